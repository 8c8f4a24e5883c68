"""Conversations: chats and their messages, and the request to judge them."""
