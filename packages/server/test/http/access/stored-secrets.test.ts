/** Secrets in the database and the data folder without the master key. */
import { Build, Pipeline, EngineDocumentAnswer } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { openHttpScene } from '../../support/http-scene.ts'
import { dumpFiles, dumpTables, formsOf, leaks, plantSecrets, SECRETS } from '../../support/secrets-scene.ts'

test('no row and no file contains a secret in plain text or in any other encoding', async () => {
  await using scene = await openHttpScene()
  const planted = await plantSecrets(scene)
  expect(await planted.missing(scene)).toEqual([])
  const texts = { ...SECRETS, ...Object.fromEntries(planted.tokens.map((token, n) => [`token ${n}`, token])) }
  expect(leaks(await dumpTables(scene.server.app), texts)).toEqual([])
  const files = await dumpFiles(scene.dataDir)
  expect(files.map(({ place }) => place)).toContain('windlass.db')
  expect(leaks(files, texts)).toEqual([])
  for (const { text } of files) expect(text).not.toContain('PRIVATE KEY')
})

test('finds each encoding of a secret in a dump', () => {
  for (const form of formsOf(SECRETS.run)) {
    const text = Buffer.from(form, 'latin1').toString()
    expect(leaks([{ place: 'here', text: `before ${text} after` }], { run: SECRETS.run })).toEqual(['run in here'])
  }
  const inside = Buffer.from(`xy${JSON.stringify({ a: SECRETS.run.replaceAll('\\', '').replaceAll('"', '') })}`)
  expect(leaks([{ place: 'here', text: inside.toString('base64') }], { run: SECRETS.run.replaceAll(/["\\]/g, '') })).toEqual([
    'run in here',
  ])
})

test('does not store encrypted variables of a fetched document in plain text', async () => {
  await using scene = await openHttpScene()
  const template = `{location: git, repo: team/app, path: ci/build.yml, context: work}`
  const document = `kind: pipeline\nmetadata: {name: demo/far}\nspec:\n  specTemplate: ${template}\n`
  await scene.admin.call('POST', '/v1/pipelines', Pipeline, { body: { name: 'demo/far', document } })
  const { engine } = await scene.start({ pipeline: 'demo/far', document: undefined, branch: 'main' })
  const value = JSON.stringify(SECRETS.document)
  const far = `kind: pipeline\nmetadata: {name: demo/far}\nspec:\n  variables:\n    - key: T\n      value: ${value}\n      encrypted: true\n  steps:\n    far:\n      image: alpine\n      commands: [echo]\n`
  const { plan } = await engine.client.call('POST', '/v1/engine/document', EngineDocumentAnswer, { body: { text: far } })
  expect(plan?.steps.map(({ name }) => name)).toEqual(['far'])
  expect(leaks(await dumpTables(scene.server.app), SECRETS)).toEqual([])
  expect(leaks(await dumpFiles(scene.dataDir), SECRETS)).toEqual([])
})

/** A pipeline with encrypted variables in both kinds of triggers. */
function triggered(name: string, version = "version: '1.0'"): string {
  const variables = (value: string): string => `[{key: B, value: ${JSON.stringify(value)}, encrypted: true}]`
  return `kind: pipeline
${version}
metadata: {name: ${name}}
spec:
  variables: ${variables(SECRETS.variable)}
  triggers: [{name: push, type: git, repo: a/b, variables: ${variables(SECRETS.document)}}]
  cronTriggers:
    - name: nightly
      options: {variables: ${variables(SECRETS.run).replace('true', "'yes'")}}
  steps: {one: {image: alpine, commands: [echo]}}
`
}

test('does not store or show encrypted variables of triggers, and says so', async () => {
  await using scene = await openHttpScene()
  const put = (name: string, body: object): Promise<Pipeline> =>
    scene.admin.call('PUT', `/v1/pipelines/${encodeURIComponent(name)}`, Pipeline, { body: { name, ...body } })
  const { problems } = await put('demo/app', { document: triggered('demo/app') })
  expect(problems).toMatchObject(
    ['triggers[0]', 'triggers[0].variables[0]', 'cronTriggers[0]', 'cronTriggers[0].options.variables[0]'].map((path) => ({
      severity: 'warning',
      path: `spec.${path}`,
    })),
  )
  const kept = { triggers: [{ variables: [{ key: 'B', value: SECRETS.exported, encrypted: true }] }] }
  await put('demo/inline', { document: "version: '1.0'\nsteps: {one: {image: alpine}}\n", settings: { kept } })
  await scene.admin.call('POST', '/v1/builds', Build, { body: { document: triggered('demo/run') } })
  const { engine } = await scene.start({ pipeline: 'demo/app', document: undefined })
  expect(Object.values(engine.claimed.secrets)).toEqual([SECRETS.variable])
  const step = scene.nobody.withToken(engine.claimed.buildToken ?? '')
  const dump = await dumpTables(scene.server.app)
  dump.push({ place: 'a call of a step', text: await step.text('GET', '/v1/pipelines/demo%2Fapp') })
  for (const place of ['/v1/pipelines', '/api/pipelines', '/api/pipelines/demo%2Fapp'])
    dump.push({ place, text: await scene.admin.text('GET', place) })
  expect(leaks(dump, SECRETS)).toEqual([])
  expect(leaks(await dumpFiles(scene.dataDir), SECRETS)).toEqual([])
  // What is shown can be stored again, and keeps the variable of the pipeline.
  const shown = await scene.admin.call('GET', '/v1/pipelines/demo%2Fapp', Pipeline)
  expect((await put('demo/app', { document: shown.document })).document).toBe(shown.document)
})

test('does not store a document with errors that has encrypted variables', async () => {
  await using scene = await openHttpScene()
  const refused = { code: 'pipeline-invalid', message: expect.stringContaining('encrypted variables') }
  const wrong = [triggered('demo/app', 'version: [}'), triggered('demo/app', 'unknown: 1').replace('steps:', 'step:')]
  for (const document of wrong) {
    const body = { name: 'demo/app', document }
    await expect(scene.admin.call('POST', '/v1/pipelines', Pipeline, { body })).rejects.toMatchObject(refused)
    await expect(scene.admin.call('POST', '/v1/builds', Build, { body: { document } })).rejects.toMatchObject(refused)
    const checked = await scene.admin.text('POST', '/v1/validate', { body: { document } })
    expect(JSON.parse(checked)).toMatchObject({ valid: false })
  }
  expect(leaks(await dumpTables(scene.server.app), SECRETS)).toEqual([])
})

test.each(['\uFEFFkind', '&a kind', '!!str kind', '? kind\n', '"\\x6bind"'])(
  'does not store or show encrypted variables of a document that begins with %j',
  async (kind) => {
    await using scene = await openHttpScene()
    const document = triggered('demo/app').replace('kind', kind)
    const body = { name: 'demo/app', document }
    const stored = await scene.admin.call('PUT', '/v1/pipelines/demo%2Fapp', Pipeline, { body })
    expect(stored.variables).toEqual([{ key: 'B', value: '*****', encrypted: true }])
    await scene.admin.call('POST', '/v1/builds', Build, { body: { document: document.replace('demo/app', 'demo/run') } })
    const { engine } = await scene.start({ pipeline: 'demo/app', document: undefined })
    expect(Object.values(engine.claimed.secrets)).toEqual([SECRETS.variable])
    const shown = { place: 'a call', text: await scene.admin.text('GET', '/v1/pipelines/demo%2Fapp') }
    expect(leaks([...(await dumpTables(scene.server.app)), shown], SECRETS)).toEqual([])
  },
)
