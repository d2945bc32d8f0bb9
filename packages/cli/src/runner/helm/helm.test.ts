import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readSettings } from '../../config.ts'
import { openHelm, type Helm } from './helm.ts'

/** Opens a Helm that fails with this text. */
function failingHelm(text: string): Helm {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-helm-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const program = join(folder, 'helm')
  writeFileSync(program, `#!/bin/sh\ncat >/dev/null\necho '${text}' >&2\nexit 1\n`)
  chmodSync(program, 0o700)
  return openHelm({ helm: program, chart: folder, settings: readSettings({}) })
}

const RELEASE = { name: 'runner', namespace: 'ci' }

test('says how to free a release that a killed Helm has locked', async () => {
  const helm = failingHelm('Error: UPGRADE FAILED: another operation (install/upgrade/rollback) is in progress')
  const failure = await helm.install(RELEASE, {}).catch((error: unknown) => error)
  expect(failure).toMatchObject({ code: 'install-failed', message: expect.stringContaining('or was killed while it did') })
  expect(failure).toMatchObject({ hint: expect.stringContaining('helm rollback runner --namespace ci') })
})

test('passes on what Helm says of another failure', async () => {
  const helm = failingHelm('Error: context deadline exceeded')
  await expect(helm.install(RELEASE, {})).rejects.toMatchObject({
    code: 'install-failed',
    message: 'Helm could not install the release: Error: context deadline exceeded',
  })
})
