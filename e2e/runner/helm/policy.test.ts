/**
 * The policy that the chart gives the agent allows the runtimes that the chart sends to the server: no build of a runtime in the values is
 * refused.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import {
  policyWith,
  protocolV1RefusalsOf,
  refusalsOf,
  specOf,
  startTask,
} from '../../../packages/agent/test/support/attempt-objects.ts'
import { type Helm, openHelm, type Rendered } from '../../support/helm.ts'
import { BASE, docs, env, pod, runtimes, valuesOf, type RuntimeDocument } from './render.ts'

const NAMESPACE = 'codefresh'

let helm: Helm
beforeAll(async () => {
  helm = await openHelm()
})
afterAll(() => helm?.close())

/** Returns the policy of the agent of a rendered release. */
function policyOfRelease(objects: readonly Rendered[]): ReturnType<typeof policyWith> {
  const prefix = 'WINDLASS_AGENT_'
  const settings = Object.entries(env(pod(objects, 'Deployment', 'runner'))).flatMap(([name, value]): [string, string][] =>
    name.startsWith(prefix) && typeof value === 'string' ? [[name.slice(prefix.length), value]] : [],
  )
  // The location of its files does not matter here.
  const { CONFIG_DIR: _dir, PORT: _port, ...rest } = Object.fromEntries(settings)
  return policyWith(rest, [NAMESPACE])
}

/** Returns the problems of an attempt of each runtime of a release, by both protocols. */
function refusalsOfRelease(objects: readonly Rendered[]): string[] {
  const policy = policyOfRelease(objects)
  return runtimes(objects).flatMap((document) => {
    const runtime = runtimeOf(document)
    return [
      ...refusalsOf(startTask({}, { runtime }), policy),
      ...protocolV1RefusalsOf(startTask({}, { runtime, protocol: 'v1' }), policy),
    ]
  })
}

function runtimeOf({ metadata, spec }: RuntimeDocument): { name: string; spec: ReturnType<typeof specOf> } {
  const { type: _type, agent: _agent, isDefault: _default, ...written } = spec
  return { name: metadata.name, spec: specOf(written) }
}

test('allows builds of the runtimes in every block of values of the docs', async () => {
  const pages = ['install-helm.md', ...readdirSync(join(docs, 'clouds')).map((name) => `clouds/${name}`)]
  const blocks = pages.flatMap((page) =>
    [...readFileSync(join(docs, page), 'utf8').matchAll(/<!-- values: (\S+) -->/g)].map(([, name = '']) => ({ page, name })),
  )
  expect(blocks.length).toBeGreaterThan(20)
  for (const { page, name } of blocks)
    expect(refusalsOfRelease(await helm.template('windlass-runtime', BASE, valuesOf(page, name))), `${page} ${name}`).toEqual([])
})

test.each(['production', 'first-steps'])('allows builds of a values file of cf-runtime: %s', async (name) => {
  const values = parse(readFileSync(join(import.meta.dirname, 'cf-runtime', `${name}.yaml`), 'utf8'))
  expect(refusalsOfRelease(await helm.template('windlass-runtime', values))).toEqual([])
})

test('refuses a runtime whose placement was changed on the server', async () => {
  const objects = await helm.template('windlass-runtime', BASE)
  const [document] = runtimes(objects)
  if (document === undefined) throw new Error('no runtime')
  const { name, spec } = runtimeOf(document)
  const cluster = { ...spec.runtimeScheduler.cluster, nodeSelector: { 'node-role.kubernetes.io/control-plane': '' } }
  const edited = { name, spec: { ...spec, runtimeScheduler: { ...spec.runtimeScheduler, cluster } } }
  const refusals = refusalsOf(startTask({}, { runtime: edited }), policyOfRelease(objects))
  expect(refusals.filter((refusal) => refusal.includes(' spec.nodeSelector: '))).toHaveLength(2)
  for (const refusal of refusals) expect(refusal).toContain('WINDLASS_AGENT_PLACEMENTS')
})
