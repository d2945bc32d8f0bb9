import { execFile } from 'node:child_process'
import { createPublicKey, createVerify } from 'node:crypto'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { buildDocument, deleteMadeImages } from '../support/build-document.ts'
import { image } from '../support/images.ts'
import { startRegistry, type Registry } from '../support/registry.ts'
import { runPipeline } from '../support/run-pipeline.ts'

const run = promisify(execFile)
const PASSWORD = 'key-password-1'
let registry: Registry
let key: { private: string; public: string }

beforeAll(async () => {
  registry = await startRegistry()
  const made = await run('docker', [
    'run',
    '--rm',
    '--env',
    `COSIGN_PASSWORD=${PASSWORD}`,
    image('cosign'),
    'bash',
    '-c',
    'cd /tmp && cosign generate-key-pair >&2 && cat cosign.key && echo ==== && cat cosign.pub',
  ])
  const [secret = '', open = ''] = made.stdout.split('====\n')
  key = { private: secret, public: open }
})

afterAll(async () => {
  await registry[Symbol.asyncDispose]()
  await deleteMadeImages()
})

const input = () => ({ registries: [{ context: 'open', isDefault: true, domain: registry.domain }] })

function document(options: string) {
  return buildDocument({
    dockerfile: [`FROM ${image('shell')}`, 'COPY file /file'],
    commands: ['printf %s "$KEY" > ../cosign.key'],
    fields: `    tag: signed\n    no_cf_cache: true\n    cosign:\n      sign: true\n${options}`,
  })
}

const Manifest = z.looseObject({
  layers: z.array(z.looseObject({ digest: z.string(), annotations: z.record(z.string(), z.string()) })),
})

test('signs a pushed image with a key for its digest (P061)', async () => {
  const { text, name } = document('      options: {key: ../cosign.key, key-pass: "${{KEY_PASS}}", tlog-upload: "false"}')
  const built = await runPipeline(text, { input: input(), variables: { KEY: key.private }, secrets: { KEY_PASS: PASSWORD } })
  expect(built.snapshot.steps['build']).toMatchObject({ status: 'success' })
  expect(built.log('build')).not.toContain(PASSWORD)
  const event = built.events.find((candidate) => candidate.type === 'image')
  const digest = event?.type === 'image' ? (event.digest ?? '') : ''
  const at = `http://${registry.domain}/v2/${name}`
  const manifest = Manifest.parse(
    await (
      await fetch(`${at}/manifests/${digest.replace(':', '-')}.sig`, {
        headers: { accept: 'application/vnd.oci.image.manifest.v1+json' },
      })
    ).json(),
  )
  const layer = manifest.layers[0]
  const payload = await (await fetch(`${at}/blobs/${layer?.digest}`)).text()
  expect(JSON.parse(payload)).toMatchObject({ critical: { image: { 'docker-manifest-digest': digest } } })
  const signature = layer?.annotations['dev.cosignproject.cosign/signature'] ?? ''
  expect(createVerify('sha256').update(payload).verify(createPublicKey(key.public), signature, 'base64')).toBe(true)
})

test('reports a wrong key password and signing without a key (P061)', async () => {
  const variables = { KEY: key.private }
  const wrong = await runPipeline(document('      options: {key: ../cosign.key, key-pass: other, tlog-upload: "false"}').text, {
    input: input(),
    variables,
  })
  expect(wrong.snapshot.steps['build']).toMatchObject({ status: 'error', reason: 'sign-failed' })
  const keyless = await runPipeline(document('').text, { input: input(), variables })
  expect(keyless.snapshot.steps['build']).toMatchObject({ status: 'error', reason: 'integration-missing' })
  expect(keyless.snapshot.steps['build']?.message).toContain('identity token')
})
