import { chmodSync, mkdtempDisposableSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startBrowser } from './browser.ts'

const LINK = 'http://127.0.0.1:7400/signin?next=%2Fbuilds#code=65a1b2c3d4e5f60718293a4b.secret'

test.skipIf(process.platform === 'darwin')('gives the browser a file that only the user can read, and no code', async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'windlass-open-'))
  const said = join(folder.path, 'said')
  const program = join(folder.path, 'xdg-open')
  writeFileSync(program, `#!/bin/sh\nprintf '%s ' "$@" > ${said}.draft\nmv ${said}.draft ${said}\n`)
  chmodSync(program, 0o700)
  const environment = { PATH: `${folder.path}:${process.env['PATH']}`, DISPLAY: ':7' }
  expect(await startBrowser(LINK, { configFile: join(folder.path, 'config.yaml'), environment })).toBe(true)
  const read = (): string | undefined => {
    try {
      return readFileSync(said, 'utf8').trim()
    } catch {
      return undefined
    }
  }
  const file = join(folder.path, 'open.html')
  await expect.poll(read).toBe(file)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readFileSync(file, 'utf8')).toContain(`url=${LINK}`)
})

test.skipIf(process.platform === 'darwin')(
  'starts nothing without a desktop, and survives a program that is missing',
  async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), 'windlass-open-'))
    const configFile = join(folder.path, 'config.yaml')
    expect(await startBrowser(LINK, { configFile, environment: { PATH: folder.path } })).toBe(false)
    expect(await startBrowser(LINK, { configFile, environment: { PATH: folder.path, WAYLAND_DISPLAY: 'wayland-0' } })).toBe(false)
  },
)
