"""A story: a council, a tavern and a company of travellers in one small valley, from a seed."""
