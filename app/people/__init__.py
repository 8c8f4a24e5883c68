"""People who use the dashboard: accounts, sessions, roles, sign-in and the audit trail."""
