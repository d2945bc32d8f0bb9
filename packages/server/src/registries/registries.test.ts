import { createHmac } from 'node:crypto'
import { REGISTRIES, TOKEN_IN_ADDRESS, type Registry } from '@windlass/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CHART_PUSHES, IMAGE_PUSHES, OTHER_CALLS } from '../../test/support/payloads/registry-payloads.ts'
import { isArtifact, splitReference, type RegistryCall } from './artifact.ts'
import { REGISTRY_READERS } from './registries.ts'

const SECRET = 'a secret of sixteen characters'

test.each(REGISTRIES)('reads a push of an image that %s reports (P150)', (registry) => {
  const [artifact, ...more] = REGISTRY_READERS[registry].parse(IMAGE_PUSHES[registry])
  expect(more).toEqual([])
  expect(artifact).toMatchObject({ type: 'registry', name: 'team/app', tag: '1.2.3' })
})

test.each(Object.entries(CHART_PUSHES))('reads a push of a chart that %s reports (P150)', (registry, body) => {
  expect(REGISTRY_READERS[registry as Registry].parse(body)).toEqual([
    expect.objectContaining({ type: 'helm', name: 'app', tag: '1.2.3-rc.1' }),
  ])
})

test('takes over who pushed what, where and when, if the registry says so', () => {
  const facts = (registry: Registry): unknown => REGISTRY_READERS[registry].parse(IMAGE_PUSHES[registry])[0]
  const digest = `sha256:${'ab'.repeat(32)}`
  expect(facts('dockerhub')).toMatchObject({ namespace: 'team', pusher: 'ann', pushedAt: '2026-01-02T03:04:05.000Z' })
  expect(facts('acr')).toMatchObject({ namespace: 'acme', digest, pushedAt: '2026-01-02T03:04:05.123Z' })
  expect(facts('ecr')).toMatchObject({ namespace: '123456789012', digest })
  expect(facts('gcr')).toMatchObject({ namespace: 'team', digest, pushedAt: '2026-01-02T03:04:05.000Z' })
  expect(facts('harbor')).toMatchObject({ namespace: 'team', digest, pusher: 'ann', pushedAt: '2026-01-02T03:04:05.000Z' })
  expect(facts('artifactory')).toMatchObject({ namespace: 'docker-local', digest, pusher: 'ann' })
  expect(facts('distribution')).toMatchObject({ namespace: 'team', digest, pusher: 'ann' })
})

test('a call of Quay with several tags is several images', () => {
  const read = REGISTRY_READERS.quay.parse({ ...IMAGE_PUSHES.quay, updated_tags: ['1', 'latest'] })
  expect(read).toMatchObject([{ tag: '1' }, { tag: 'latest' }])
})

test.each(OTHER_CALLS)('a call of $registry without a push starts nothing: $body', ({ registry, body }) => {
  expect(REGISTRY_READERS[registry].parse(body)).toEqual([{ reason: 'event-unsupported', message: expect.any(String) }])
})

test.each(REGISTRIES)('any body of %s is read without an error', (registry) => {
  const { parse, deliveryId, eventName } = REGISTRY_READERS[registry]
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), mutated(IMAGE_PUSHES[registry])), (body) => {
      deliveryId?.(body)
      eventName(body)
      for (const read of parse(body)) if (isArtifact(read)) expect(read.name.length * read.tag.length).toBeGreaterThan(0)
    }),
  )
})

/** Returns the body with one of its fields replaced. */
function mutated(body: object): fc.Arbitrary<unknown> {
  return fc.tuple(fc.constantFrom(...Object.keys(body)), fc.jsonValue()).map(([key, value]) => ({ ...body, [key]: value }))
}

function callOf(more: Partial<RegistryCall>): RegistryCall {
  return { headers: {}, body: Buffer.from('{}'), token: undefined, secret: SECRET, ...more }
}

test.each(REGISTRIES)('%s is verified by the secret, where it can send one', (registry) => {
  const verify = (more: Partial<RegistryCall>): boolean => REGISTRY_READERS[registry].verify(callOf(more))
  const isInAddress = (TOKEN_IN_ADDRESS as readonly Registry[]).includes(registry)
  expect(verify({})).toBe(false)
  expect(verify({ token: SECRET })).toBe(isInAddress)
  expect(verify({ token: `${SECRET}x` })).toBe(false)
  expect(verify({ token: '' })).toBe(false)
  const header = registry === 'artifactory' ? 'x-jfrog-event-auth' : 'authorization'
  expect(verify({ headers: { [header]: SECRET } })).toBe(true)
  expect(verify({ headers: { [header]: 'another secret of that size..' } })).toBe(false)
  if (registry !== 'artifactory') {
    expect(verify({ headers: { authorization: `Bearer ${SECRET}` } })).toBe(true)
    expect(verify({ headers: { 'x-windlass-token': SECRET } })).toBe(true)
  }
})

test('Artifactory and scripts can sign the body', () => {
  const signature = createHmac('sha256', SECRET).update('{}').digest('hex')
  for (const [registry, header] of [
    ['artifactory', 'x-jfrog-event-auth'],
    ['generic', 'x-windlass-signature'],
  ] as const) {
    const { verify } = REGISTRY_READERS[registry]
    expect(verify(callOf({ headers: { [header]: `sha256=${signature}` } }))).toBe(true)
    expect(verify(callOf({ headers: { [header]: `sha256=${signature}` }, body: Buffer.from('{"a":1}') }))).toBe(false)
  }
})

test.each([
  ['gcr.io/project/app:1.0', { name: 'project/app', tag: '1.0' }],
  ['europe-docker.pkg.dev/project/repo/app:1.0', { name: 'project/repo/app', tag: '1.0' }],
  ['localhost:5000/app:1', { name: 'app', tag: '1' }],
  ['team/app:1', { name: 'team/app', tag: '1' }],
  ['gcr.io/project/app', undefined],
  ['gcr.io/project/app@sha256:ab', undefined],
  [undefined, undefined],
])('splits the image %s', (reference, expected) => {
  expect(splitReference(reference)).toEqual(expected)
})
