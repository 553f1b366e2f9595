# rules of this folder
