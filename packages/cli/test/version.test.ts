import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { VERSION } from '@windlass/plan/version'
import { expect, test } from 'vitest'
import { openHttpScene } from '../../server/test/support/http-scene.ts'
import { windlass } from './windlass.ts'

test('version --check compares with the server and with a release, and fails if one differs', async () => {
  await using scene = await openHttpScene()
  const same = await windlass(scene, ['version', '--check'])
  expect(same).toMatchObject({
    code: 0,
    text: expect.stringContaining(`server    ${VERSION}  the same version  ${scene.server.url}`),
  })
  const folder = await mkdtemp(join(tmpdir(), 'windlass-version-'))
  try {
    const path = join(folder, 'images.json')
    await writeFile(path, JSON.stringify({ version: '99.0.0', images: [] }))
    const other = await windlass(scene, ['version', '--check', '--release', path, '-o', 'json'])
    expect(other.code).toBe(1)
    expect(JSON.parse(other.text)).toMatchObject({
      version: VERSION,
      matches: false,
      server: { version: VERSION, source: scene.server.url, matches: true },
      release: { version: '99.0.0', source: path, matches: false },
    })
    const text = await windlass(scene, ['version', '--release', path])
    expect(text).toMatchObject({ code: 1, text: expect.stringContaining('hint: Use version 99.0.0 of windlass.') })
    await writeFile(path, '{}')
    const broken = await windlass(scene, ['version', '--release', path])
    expect(broken).toMatchObject({ code: 2, text: expect.stringContaining('is not the images.json of a release') })
  } finally {
    await rm(folder, { recursive: true })
  }
})
