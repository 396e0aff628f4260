"""The HTTP side of the service: protection, observation, the API and its OpenAI-like twin."""
