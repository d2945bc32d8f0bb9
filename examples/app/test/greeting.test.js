import assert from 'node:assert/strict'
import { test } from 'node:test'
import { greeting } from '../greeting.js'

test('greets somebody by name', () => {
  assert.match(greeting('Ann'), /^Hello, Ann!/)
})

test('greets the world when nobody is named', () => {
  for (const name of [undefined, null, '', '  ']) assert.match(greeting(name), /^Hello, world!/)
})

test('tells its version', () => {
  assert.match(greeting('Ann'), /version \d+\.\d+\.\d+\.$/)
})
