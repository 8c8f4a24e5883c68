"""From a transcript to a judgement: pure functions and models, with no table and no request.

The packages in the order in which a conversation passes through them, with the words that they share:

- `dialogue` parts a transcript into lines of the customer and of the service side. A *cue* is what a phrase
  of a lexicon (`languages`) shows in a line: `said` by the service side, `heard` from the customer.
- `acts` reads what each line does. An *act*, such as a promise or a refusal, is *shown* where models find it
  as likely as not, and a phrase makes it surer.
- `ledger` has an *entry* for each request of the customer, with the states it went through; its *matters* are
  those that ask for more than to speak to a person. The *opinion* is what a reader of the whole conversation
  would probably answer; it is None in other languages than English.
- `conduct` reads feelings and manners; a *breach* is mockery, a threat, pressure or somebody else's matter.
- `facts` holds all of that for one conversation, as the `rules` of the criteria need it. A rule's answer is
  checked against the opinion, the *reader*, in `rules.second_look`.
- `scoring`, `insights` and `results` make the score, the summary and the document of results from the answers.
- `language_model` asks a model for the same acts and requests, in place of those of the rules.
"""
