/** The sizes of what browsers load. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { NODE } from '../../support/programs.ts'

const SCRIPT = join(import.meta.dirname, '../../../packages/web/scripts/finish-build.ts')

test('the first script, the styles, the fonts and each chunk of the built page are within their budgets (W094)', () => {
  const { status, stdout } = spawnSync(NODE, [SCRIPT, '--check'], { encoding: 'utf8' })
  const lines = stdout.trim().split('\n')
  expect(lines.filter((line) => !line.startsWith('ok'))).toEqual([])
  for (const what of ['first script', 'styles', 'fonts', 'chunk viewer', 'chunk builds', 'chunk build-screen', 'chunk palette'])
    expect(lines.some((line) => line.includes(`${what}: `))).toBe(true)
  expect(status).toBe(0)
})
