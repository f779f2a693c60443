"""What can be asked, one module for each resource; `app.py` lists them."""
