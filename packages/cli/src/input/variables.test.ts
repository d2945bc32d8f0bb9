import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { parseSecrets, parseVariables, readVariableFile } from './variables.ts'

const folder = mkdtempSync(join(tmpdir(), 'windlass-variables-'))
afterAll(() => rmSync(folder, { recursive: true }))

test('a value may contain equals signs', () => {
  expect(parseVariables(['A=1', 'B=x=y', 'A=2', 'C='], '-v')).toEqual({ A: '2', B: 'x=y', C: '' })
})

test('rejects a variable without a name and does not print it, because it may be a secret', () => {
  expect(() => parseVariables(['hunter2'], '-v')).toThrow('Expected a variable in the form NAME=VALUE.')
})

test('reads a secret without a value from the environment', () => {
  expect(parseSecrets(['TOKEN', 'X=y'], { TOKEN: 'abc' })).toEqual({ TOKEN: 'abc', X: 'y' })
  expect(() => parseSecrets(['NONE'], {})).toThrow('A secret has no value.')
})

test('reads a variable file with lines, JSON or YAML', async () => {
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  expect(await readVariableFile(write('a.env', '# note\n\nexport A=1\nB="two words"\n'))).toEqual({ A: '1', B: 'two words' })
  expect(await readVariableFile(write('a.json', '{"A": 1, "B": true}'))).toEqual({ A: '1', B: 'true' })
  expect(await readVariableFile(write('a.yaml', 'A: text\nB:\n'))).toEqual({ A: 'text', B: '' })
  await expect(readVariableFile(write('b.yaml', '- 1'))).rejects.toThrow('is not a mapping')
  await expect(readVariableFile(write('c.yaml', '- A: 1'))).rejects.toMatchObject({
    details: { hint: expect.stringContaining('on a server accepts a list of variable sets') },
  })
})
