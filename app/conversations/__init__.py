"""Conversations: chats, their messages and the requests to evaluate them."""
