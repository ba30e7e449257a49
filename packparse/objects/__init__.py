"""The grammar of objects, one module a kind.

So far each says what an object links to; a link is a target's raw id and the kind it must have.
"""
