"""Holds encode_json and decode_json to what their comments say."""

import copy
import decimal
import json
import pickle

from holdpoint import decode_json, encode_json

failed = 0


def same(got, want):
    global failed
    if got != want:
        failed += 1
        print(f"{got} and not {want}")


for text in (
    '{"id":9007199254740993,"x":1.0,"2":1,"1":2,"big":1e300}', '[1.50,{"a":[-0.0]},0.1234567890123456789,1E+2]', "[]", "{}",
    '{"a":"<\\"\\\\\\n","é":"é"}', '{"":{"":[]},"10":{"9":1,"8":[true,false,null]}}', '"x"', "1.10",
):
    value = decode_json(text + "\n")
    same(value, json.loads(text))
    for copied in (value, copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        same(encode_json([{"value": copied}]), f'[{{"value":{text}}}]')
same(decode_json("1.50") + 1, 2.5)
same(encode_json((decimal.Decimal("1.10"), {1: 2.5, None: True})), '[1.10,{"1":2.5,"null":true}]')
for text in ("NaN", "[Infinity]", '{"a":-Infinity}', "nul", ""):
    try:
        same(decode_json(text), "an error")
    except ValueError:
        pass
circle = []
circle.append(circle)
for refused in (float("nan"), [float("inf")], decimal.Decimal("NaN"), object(), {(): 1}, circle):
    try:
        same(encode_json(refused), "an error")
    except (TypeError, ValueError):
        pass
print(f"{failed} failed")
