"""Makes the linear models anew from labelled conversations; needs numpy, and never at run time."""
