"""Voice calls: calls of a voice bot, their end, their recording and how the bot performed."""
