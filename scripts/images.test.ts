import { readFileSync } from 'node:fs'
import { BUILDKIT_IMAGE, COSIGN_IMAGE, DEPLOY_IMAGE, TOOLS_IMAGE } from '@windlass/engine'
import { RuntimeSpec } from '@windlass/protocol'
import { expect, test } from 'vitest'

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')
const names: Record<string, { local: string }> = JSON.parse(read('../images/names.json'))
const { version }: { version: string } = JSON.parse(read('../package.json'))

test('default images in the code are the built ones, in the version of the project', () => {
  const { runtimeScheduler, dockerDaemonScheduler } = RuntimeSpec.parse({})
  expect(TOOLS_IMAGE).toBe(names['tools']?.local)
  expect(BUILDKIT_IMAGE).toBe(names['buildkit']?.local)
  expect(COSIGN_IMAGE).toBe(names['cosign']?.local)
  expect(DEPLOY_IMAGE).toBe(names['deploy']?.local)
  expect(runtimeScheduler.image).toBe(names['windlass']?.local)
  expect(dockerDaemonScheduler.dindImage).toBe(names['dind']?.local)
  for (const name of ['tools', 'windlass', 'dind', 'dind-rootless', 'buildkit', 'cosign', 'deploy'])
    expect(names[name]?.local).toBe(`windlass/${name}:${version}`)
})
