import { expect, test } from 'vitest'
import { describeUnmasked, whyUnmasked } from './secret-text.ts'

const PEM = '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\n-----END PRIVATE KEY-----\n'

test.each([
  ['ab', 'short'],
  ['True', 'word'],
  ['-----BEGIN RSA PRIVATE KEY-----', 'armor'],
  ['}, {', 'brackets'],
  ['hunter2', undefined],
  ['12345', undefined],
  ['default', undefined],
  ['none', undefined],
  ['"\';:', undefined],
  ['   ', undefined],
])('of %s the reason not to mask it is: %s', (text, why) => {
  expect(whyUnmasked(text)).toBe(why)
})

test.each([
  ['', undefined],
  ['correct horse', undefined],
  ['ab', 'Logs show this value, because it has fewer than 3 characters.'],
  ['true', 'Logs show this value, because it is a common word.'],
  [PEM, 'The first and the last line are not masked, because they are not secret. The lines between are.'],
  [
    '-----BEGIN KEY-----\n-----END KEY-----',
    'Logs show the lines of this value: it has no secret part between its first and its last line.',
  ],
  ['a\nb', 'Logs show the lines of this value: each of them is too short, a common word or brackets.'],
  ['{\n  "token": "hunter2hunter2"\n}', 'Logs show lines 1, 3 of this value: too short, a common word or brackets.'],
  ['\nhunter2hunter2\n\n  true\n', 'Logs show line 4 of this value: too short, a common word or brackets.'],
  ['true\n', 'Logs show this value, because it is a common word.'],
])('of %j a form says: %s', (value, text) => {
  expect(describeUnmasked(value)).toBe(text)
})
