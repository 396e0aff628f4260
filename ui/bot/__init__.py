"""Chat platforms: Slack, Feishu, DingTalk. Each takes events in, answers later in the thread."""
