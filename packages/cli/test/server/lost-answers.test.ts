/** Answers that do not reach the command: the server started the build, and the command repeats the call instead of reporting a failure. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROUTES } from '@windlass/client'
import { expect, test } from 'vitest'
import { openFlakyStore, type Fate } from '../../../server/test/support/fakes/flaky-store.ts'
import { HELLO, openHttpScene } from '../../../server/test/support/http-scene.ts'
import { windlass } from '../windlass.ts'

const LOST: readonly { readonly what: string; readonly fate: Fate }[] = [
  { what: 'the connection closes before the answer', fate: 'cut' },
  { what: 'a proxy answers 502', fate: { status: 502, body: 'bad gateway' } },
]

test.each(LOST)('run starts one build if $what', async ({ fate }) => {
  await using scene = await openHttpScene()
  await using proxy = await openFlakyStore(scene.server.url)
  proxy.once(/^POST \/v1\/builds$/, fate)
  const folder = await mkdtemp(join(tmpdir(), 'windlass-lost-'))
  try {
    const file = join(folder, 'hello.yml')
    await writeFile(file, HELLO)
    const run = await windlass({ ...scene, server: { ...scene.server, url: proxy.url } }, ['run', '-f', file, '--detach'])
    const { items } = await scene.admin.builds.list()
    expect(run).toEqual({ code: 0, text: `${items[0]?.id ?? 'none'}\n` })
    expect(items).toHaveLength(1)
    expect(proxy.calls.filter(({ path }) => path === ROUTES.builds.create.path)).toHaveLength(2)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

test.each(LOST)('run in a step starts one build if $what', async ({ fate }) => {
  await using scene = await openHttpScene()
  for (const name of ['team/parent', 'team/child']) await scene.admin.pipelines.create({ name, document: HELLO })
  const { build, engine } = await scene.start({ pipeline: 'team/parent', document: undefined })
  await using proxy = await openFlakyStore(scene.server.url)
  proxy.once(/^POST \/v1\/builds$/, fate)
  const key = engine.claimed.buildToken
  const run = await windlass({ ...scene, server: { ...scene.server, url: proxy.url } }, ['run', 'team/child', '--detach'], key)
  const children = (await scene.admin.builds.list()).items.filter(({ parent }) => parent === build.id)
  expect(run).toEqual({ code: 0, text: `${children[0]?.id ?? 'none'}\n` })
  expect(children).toHaveLength(1)
  expect(proxy.calls.filter(({ path }) => path === ROUTES.builds.create.path)).toHaveLength(2)
})
