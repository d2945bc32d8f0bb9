import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readTokenFile } from './token-file.ts'

test.each([
  ['a key', '6b045df61d5987a1a8c274fc.hunter2\n', '6b045df61d5987a1a8c274fc.hunter2'],
  ['nothing', '\n', undefined],
  ['two lines', 'hunter2\nhunter3\n', undefined],
  ['a control character', 'hunter2\u001b[31m', undefined],
  ['too much', 'x'.repeat(20_000), undefined],
])('reads a token file with %s', async (_, text, token) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'windlass-token-'))
  const file = join(folder.path, 'key')
  await writeFile(file, text)
  if (token !== undefined) return expect(readTokenFile(file)).toBe(token)
  expect(() => readTokenFile(file)).toThrow(
    expect.objectContaining({ code: 'usage', message: `${file} does not contain a key or token.` }),
  )
})
