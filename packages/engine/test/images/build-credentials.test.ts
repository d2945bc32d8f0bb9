import { execFile } from 'node:child_process'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { newId } from '@windlass/kit'
import { buildDocument, deleteMadeImages } from '../support/build-document.ts'
import { image } from '../support/images.ts'
import { runPipeline } from '../support/run-pipeline.ts'

const run = promisify(execFile)
const FROM = `FROM ${image('shell')}`

afterAll(deleteMadeImages)

test('passes a BuildKit secret only to the command that mounts it, not to image, history, arguments or log (P054)', async () => {
  const secret = randomBytes(12).toString('hex')
  const { text, name } = buildDocument({
    dockerfile: [
      FROM,
      `RUN echo ${newId(Date.now())}`,
      'RUN --mount=type=secret,id=inside --mount=type=secret,id=outside cat /run/secrets/inside; sha256sum </run/secrets/outside >/sum',
      'CMD cat /sum; ls /run/secrets 2>/dev/null',
    ],
    commands: ['mkdir -p ../elsewhere && printf %s "$SECRET" > ../elsewhere/secret', 'printf %s "$SECRET" > secret'],
    fields:
      '    progress: plain\n    secrets:\n      - {id: inside, src: secret}\n      - id=outside,src=/codefresh/volume/elsewhere/secret',
    more: "  use: {image: '${{build}}'}",
  })
  // The variable is not a secret of the build, so its value is masked only because of this step.
  const built = await runPipeline(text, { variables: { SECRET: secret } })
  expect(built.status('build')).toBe('success')
  const { stdout: sum } = await run('sh', ['-c', 'printf %s "$1" | sha256sum', 'sh', secret])
  expect(built.output('use').trim()).toBe(sum.trim())
  expect(built.log('build')).toContain('****')
  expect(built.log('build')).not.toContain(secret)
  const history = await run('docker', ['history', '--no-trunc', `${name}:latest`])
  const config = await run('docker', ['image', 'inspect', `${name}:latest`])
  expect(history.stdout + config.stdout).not.toContain(secret)
})

test('supports progress rawjson and quiet, and shows the error of a quiet build (P054)', async () => {
  const dockerfile = [FROM, `RUN echo ${newId(Date.now())}`]
  const raw = await runPipeline(buildDocument({ dockerfile, fields: '    progress: rawjson\n    no_cache: true' }).text)
  expect(raw.log('build')).toContain('"vertexes"')
  expect(raw.log('build')).toContain('0 of 1 steps of the Dockerfile were cached, 1 ran')
  const quiet = await runPipeline(buildDocument({ dockerfile, fields: '    progress: quiet\n    no_cf_cache: true' }).text)
  expect(quiet.output('build')).toBe('')
  expect(quiet.log('build')).toContain('1 of 1 steps of the Dockerfile were cached')
  const broken = await runPipeline(
    buildDocument({ dockerfile: [FROM, 'RUN echo why; exit 3'], fields: '    progress: quiet' }).text,
  )
  expect(broken.output('build')).toContain('why')
  expect(broken.snapshot.steps['build']?.message).toContain('"RUN echo why; exit 3" in the Dockerfile ended with exit code 3')
})

test('offers the key of the git integration or a key file to the command that mounts ssh (P054)', async () => {
  const key = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    publicKeyEncoding: { type: 'pkcs1', format: 'pem' },
  }).privateKey
  const git = [{ context: 'git', isDefault: true, url: 'ssh://git@example.com', sshPrivateKey: key }]
  const build = (fields: string) =>
    buildDocument({
      dockerfile: [
        `FROM ${image('tools')}`,
        `RUN echo ${newId(Date.now())}`,
        'RUN --mount=type=ssh test -S "$SSH_AUTH_SOCK" && echo one agent',
        'RUN --mount=type=ssh,id=deploy test -S "$SSH_AUTH_SOCK" && echo other agent',
      ],
      commands: ['printf "%s" "$KEY" > ../deploy-key'],
      fields,
    }).text
  const options = { input: { git }, variables: { KEY: key } }
  const both = await runPipeline(build('    ssh: [default, "deploy=../deploy-key"]'), options)
  expect(both.status('build')).toBe('success')
  expect(both.output('build')).toMatch(/one agent[\s\S]*other agent/)
  const none = await runPipeline(build('    ssh: default'), { variables: { KEY: key } })
  expect(none.snapshot.steps['build']).toMatchObject({ status: 'error', reason: 'integration-missing' })
  const noFile = await runPipeline(build('    ssh: {deploy: nowhere}'), options)
  expect(noFile.snapshot.steps['build']?.message).toContain('/codefresh/volume/app/nowhere')
})

test('reports a missing secret file with its full path', async () => {
  const built = await runPipeline(buildDocument({ dockerfile: [FROM], fields: '    secrets: ["id=a,src=../nowhere"]' }).text)
  expect(built.snapshot.steps['build']).toMatchObject({ status: 'error', reason: 'invalid-step' })
  expect(built.snapshot.steps['build']?.message).toContain('/codefresh/volume/nowhere')
})

test('accepts an absolute path on the shared volume for a Dockerfile (P049)', async () => {
  const built = await runPipeline(
    buildDocument({
      dockerfile: [FROM, 'CMD echo absolute'],
      commands: ['mkdir -p ../other && mv Dockerfile ../other/Some.dockerfile'],
      fields: '    dockerfile: /codefresh/volume/other/Some.dockerfile',
      more: "  use: {image: '${{build}}'}\n  missing: {type: build, image_name: x, working_directory: app, dockerfile: /Dockerfile.none}",
    }).text,
  )
  expect(built.output('use')).toBe('absolute\n')
  expect(built.snapshot.steps['missing']?.message).toContain('/codefresh/volume/app/Dockerfile.none')
})

test('reports a command killed by the kernel as out of memory', async () => {
  const built = await runPipeline(buildDocument({ dockerfile: [FROM, 'RUN echo big && exit 137'] }).text)
  expect(built.snapshot.steps['build']).toMatchObject({ status: 'error', reason: 'out-of-memory' })
  expect(built.snapshot.steps['build']?.message).toContain('"RUN echo big && exit 137"')
})
