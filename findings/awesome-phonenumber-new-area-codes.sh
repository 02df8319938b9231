#!/usr/bin/env bash
# awesome-phonenumber 7.8.0 (npm): numbers of the American area codes 738 and 273 are invalid, though other builds of the same
# rules call them valid. Beside it stand libphonenumber-js 1.13.16 and google-libphonenumber 3.2.47, each the newest release in
# November 2026. So one caller passes the check of one program and fails that of the next.
# Seen: +1 738 234 5678 and +1 273 234 5678: false, true, true. +1 835 234 5678, of an older area code: true, true, true.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund awesome-phonenumber@7.8.0 libphonenumber-js@1.13.16 google-libphonenumber@3.2.47
cat > numbers.mjs <<'JS'
import { parsePhoneNumber } from 'awesome-phonenumber';
import google from 'google-libphonenumber';
import { parsePhoneNumberFromString } from 'libphonenumber-js/max';

const util = google.PhoneNumberUtil.getInstance();
const judge = (number) => [
  parsePhoneNumber(number).valid,
  parsePhoneNumberFromString(number)?.isValid(),
  util.isValidNumber(util.parse(number)),
];
console.log(['+17382345678', '+12732345678', '+18352345678'].map((number) => judge(number).join()).join(' '));
JS
seen=$(node numbers.mjs)
echo "$seen"
[ "$seen" = 'false,true,true false,true,true true,true,true' ]
