"""Common given names, which are recognised without a capital."""

from app.ai.redaction.words import split_words

# Without names that are more often words: will, mark, grace, hope, may, rose, bill, art.
GIVEN_NAMES = split_words(
    """
    aaron abdul abigail adam adrian ahmed aidan aisha alan albert alejandro alex alexander
    alexandra alexis alfred ali alice alicia alison allison alyssa amanda amber amelia amir amit
    amy ana andre andrea andreas andrew andy angela angelica anita anjali ann anna anne annette
    annie anthony antonio anya arjun arthur ashley ashok audrey barbara beatrice ben benjamin
    bernard beth bethany betty beverly bob bobby bonnie bradley brandon brenda brian bridget
    bruce bryan caitlin caleb cameron camila carl carla carlos carmen carol carolina caroline
    carolyn catherine cathy charles charlie charlotte chelsea chen cheryl chris christian
    christina christine christopher cindy claire clara claudia colin colleen connor courtney
    craig crystal cynthia daisy dale daniel daniela danielle danny darren dave david deborah
    debbie debra deepak denise dennis derek diana diane diego dmitri dominic don donald donna
    doris dorothy doug douglas dylan edith eduardo edward edwin eileen elaine eleanor elena eli
    elijah elizabeth ella ellen emily emma eric erica erik erin ernest esther ethan eugene eva
    evan evelyn fatima felicia felix fernando fiona frances francesca francis francisco frankie
    fred frederick gabriel gabriela gareth gary gavin geoff george georgia gerald gina giovanni
    gita gloria gordon graham greg gregory gustavo hannah hans harold harpreet harriet hassan
    heather heidi helen henry howard hugh hugo ian ibrahim igor imran ingrid irene isaac isabel
    isabella ivan jackie jacob jacqueline jake james jamie jane janet janice jared jasmine jason
    javier jayden jean jeff jeffrey jennifer jenny jeremy jerome jerry jesse jessica jill jim
    jimmy joan joanna joanne joe joel johan john johnny jonathan jordan jorge jose joseph joshua
    juan juanita judith judy julia julian julie justin kaitlyn karen karim karl karthik kate
    katherine kathleen kathryn kathy katie kavita kayla keith kelly ken kenneth kevin khalid kim
    kimberly kirsten kristen kristin kumar kurt kyle lakshmi larry laura lauren laurie lawrence
    leah leo leonard leslie lewis liam linda lindsay lisa lois lorraine louis louise lucas lucia
    lucy luis luke lydia lynn madison mandy manuel marcus margaret maria marie marilyn mario
    marion marjorie marlene marsha martha martin mary mateo mathew matt matthew maureen max maya
    megan melanie melissa mercedes meredith mia michael michele michelle miguel mike mildred
    mindy miriam mitchell mohamed mohammed molly monica morgan nadia nancy naomi natalia natalie
    natasha nathan neha neil nicholas nick nicola nicole nina noah nora norma norman olga oliver
    olivia omar oscar pablo pamela patricia patrick paul paula pauline pedro peggy penny peter
    phil philip phillip phyllis pooja prakash pranav pratik priya rachel rafael rahul raj rajesh
    ralph ramesh ramon randy raul raymond rebecca regina renee ricardo richard rick ricky rita
    rob robert roberta roberto robin rodrigo roger rohan roland ron ronald rosa rosemary ross
    roy ruth ryan sabrina sally sam samantha samuel sandra sanjay santiago sara sarah scott sean
    sebastian sergei sergio seth shannon sharon shaun sheila shelly shirley shreya simon sofia
    sonia sophia sophie spencer stacey stacy stanley stefan stella stephanie stephen steve
    steven stuart sunil suresh susan suzanne sylvia tamara tammy tanya tara taylor teresa terry
    thelma theo theodore theresa thomas tiffany tim timothy tina todd tom tony tracey tracy
    travis trevor tyler valerie vanessa vera veronica vicky victor victoria vijay vikram vincent
    virginia vivian vladimir walter wanda warren wayne wendy wesley william willie xavier yasmin
    yolanda yuki yusuf yvonne zachary zainab zoe
    """
)
