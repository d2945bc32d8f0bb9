import { describe, expect, test } from 'vitest'
import { messagesOf } from '../test/documents.ts'
import { ACCEPTED, REJECTED } from '../test/language-cases.ts'
import { compile } from './compile/compile.ts'

describe('the language accepts (P174)', () => {
  test.each(Object.entries(ACCEPTED))('%s', (_, text) => {
    const { plan, problems } = compile({ text, file: 'x.yml' })
    expect(problems.filter(({ severity }) => severity === 'error')).toEqual([])
    expect(plan).toBeDefined()
  })
})

describe('the language rejects (P174)', () => {
  test.each(Object.entries(REJECTED))('%s', (_, { text, messages }) => {
    expect(compile({ text, file: 'x.yml' }).plan).toBeUndefined()
    expect(messagesOf(text)).toEqual(messages)
  })
})
