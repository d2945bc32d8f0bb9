import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { zip } from './zip.ts'

test('writes an archive that Python reads back unchanged', () => {
  const dir = mkdtempSync(join(tmpdir(), 'zip-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const path = join(dir, 'a.zip')
  writeFileSync(
    path,
    zip([
      { name: 'cf-ca.pem', text: 'first\n' },
      { name: 'ü.pem', text: '' },
    ]),
  )
  const script =
    'import sys,zipfile,json; z=zipfile.ZipFile(sys.argv[1]); print(json.dumps([z.testzip(), {n: z.read(n).decode() for n in z.namelist()}]))'
  const read: unknown = JSON.parse(execFileSync('python3', ['-c', script, path], { encoding: 'utf8' }))
  expect(read).toEqual([null, { 'cf-ca.pem': 'first\n', 'ü.pem': '' }])
})
