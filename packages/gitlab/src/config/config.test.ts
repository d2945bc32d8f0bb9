/** The configuration of a runner: reading, findings with their lines, and changes that keep comments. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { parse } from 'smol-toml'
import { expect, onTestFinished, test } from 'vitest'
import { changeConfigFile, defaultConfigFile, loadConfig } from './config-file.ts'
import { parseGoDuration } from './duration.ts'
import { addRunner, removeRunner, setRunnerKeys } from './edit.ts'
import { RESOURCE_KEYS } from './sections/kubernetes-section.ts'
import { readConfigText } from './read.ts'
import { systemIdFor } from './system-id.ts'
import { mergeTemplate, readTemplate } from './template.ts'

const ONE = `# Our runners
concurrent = 4
check_interval = 0

[[runners]]
  name = "one" # the first
  url = "https://gitlab.example.com"
  token = "glrt-abc"
  executor = "kubernetes"
  pre_build_script = """
  [not a table]
  key = "not a key"
  """
  [runners.kubernetes]
    namespace = "jobs"
    image = "debian:13"
    poll_timeout = 600
    cpu_limit = "2"
    pull_policy = ["always", "if-not-present"]
    [runners.kubernetes.node_tolerations]
      "node.example.com/ci" = "NoSchedule"
    [[runners.kubernetes.volumes.empty_dir]]
      name = "docker-certs"
      mount_path = "/certs/client"
      medium = "Memory"

[[runners]]
  name = "two"
  url = "https://gitlab.example.com"
  token = "glrt-def"
  executor = "kubernetes"
  [runners.kubernetes]
    namespace = "jobs"
`

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'windlass-gitlab-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

test('reads a configuration of the original, with times in milliseconds', () => {
  const { config, findings } = readConfigText(`connection_max_age = "1h30m"\n${ONE}`)
  expect(findings).toEqual([])
  expect(config).toMatchObject({
    concurrent: 4,
    connection_max_age: 5_400_000,
    runners: [
      {
        name: 'one',
        kubernetes: {
          cpu_limit: '2',
          pull_policy: ['always', 'if-not-present'],
          volumes: { empty_dir: [{ name: 'docker-certs', medium: 'Memory' }] },
        },
      },
      { name: 'two' },
    ],
  })
})

test('names each unknown key with its line and the nearest known one (G093)', () => {
  const text = ONE.replace('poll_timeout', 'poll_timout').replace('concurrent', 'concurent').replace('medium =', 'mediun =')
  const { config, findings } = readConfigText(text)
  expect(config).toBeDefined()
  expect(findings.filter(({ message }) => message.includes('not known'))).toMatchObject([
    { line: 2, key: 'concurent', message: 'the key "concurent" is not known, and is ignored', hint: 'Did you mean concurrent?' },
    { line: 17, key: 'runners[0].kubernetes.poll_timout', hint: 'Did you mean poll_timeout?' },
    { line: 25, key: 'runners[0].kubernetes.volumes.empty_dir[0].mediun', hint: 'Did you mean medium?' },
  ])
})

test.each([
  ['concurrent = 0', 'concurrent = 0', 1, 'must be at least 1'],
  ['a wrong type', 'concurrent = "4"', 1, 'must be a number, not a text in quotes'],
  ['a syntax error', 'concurrent = 1\n[[runners]\n', 2, 'the text is not valid TOML'],
  ['a value of no list', '[[runners]]\nshell = "fish"', 2, 'must be one of bash, sh'],
  [
    'a duration',
    '[[runners]]\nunhealthy_interval = "soon"',
    2,
    'unhealthy_interval has the value "soon", which is not a duration',
  ],
  ['a quantity', '[[runners]]\n[runners.kubernetes]\ncpu_limit = "2 cores"', 3, 'is not a quantity of Kubernetes'],
  ['a pattern', '[[runners]]\n[runners.kubernetes]\nnamespace_overwrite_allowed = "("', 3, 'is not a valid regular expression'],
  ['another executor', '[[runners]]\nexecutor = "shell"', 2, 'the executor "shell" is not supported'],
  ['a token with a line break', '[[runners]]\ntoken = "glrt-a\\n"', 2, 'the token contains white space'],
  [
    'an nfs volume without a server',
    '[[runners]]\n[[runners.kubernetes.volumes.nfs]]\nname = "a"\nmount_path = "/a"\npath = "/"',
    2,
    'is missing',
  ],
])('refuses %s with its line', (_, text, line, message) => {
  const { config, findings } = readConfigText(text)
  expect(config).toBeUndefined()
  expect(findings).toContainEqual(expect.objectContaining({ severity: 'error', line, message: expect.stringContaining(message) }))
})

test('a feature flag without an effect is one warning with its line', () => {
  const flags = '  [runners.feature_flags]\n    FF_TIMESTAMPS = false\n    FF_USE_FASTZIP = true\n    FF_HASH_CACHE_KEY = true\n'
  const { findings } = readConfigText(ONE.replace('  [runners.kubernetes]\n', `${flags}  [runners.kubernetes]\n`))
  expect(findings).toMatchObject([
    { line: 16, message: 'the feature flag "FF_USE_FASTZIP" has no effect in Windlass', hint: 'Remove it.' },
    { line: 17, hint: 'Did you mean FF_HASH_CACHE_KEYS?' },
  ])
})

test('an error never quotes the text, which has tokens in it', () => {
  const { findings } = readConfigText('[[runners]]\ntoken = "glrt-secret" oops')
  expect(JSON.stringify(findings)).not.toContain('glrt-secret')
})

test('knows a limit and a guard for every resource', () => {
  expect(RESOURCE_KEYS).toHaveLength(22)
  const keys = RESOURCE_KEYS.flatMap((key) => [`${key} = "1"`, `${key}_overwrite_max_allowed = "2"`])
  const { findings } = readConfigText(`${ONE}\n${keys.map((key) => `    ${key}`).join('\n')}`)
  expect(findings).toEqual([])
})

test('a change keeps comments and everything else', () => {
  const changed = setRunnerKeys(ONE, 0, { token: 'glrt-new', id: 7, token_expires_at: new Date(0), name: undefined })
  expect(changed).toContain('# Our runners')
  expect(changed).not.toContain('the first')
  expect(parse(changed)).toMatchObject({
    runners: [
      { id: 7, token: 'glrt-new' },
      { name: 'two', token: 'glrt-def' },
    ],
  })
  expect(changed.split('\n').slice(15)).toEqual(ONE.split('\n').slice(14))
  const without = removeRunner(ONE, 0)
  expect(without).toContain('# Our runners')
  expect(parse(without)).toMatchObject({ concurrent: 4, runners: [{ name: 'two' }] })
  expect(removeRunner(without, 0)).toBe('# Our runners\nconcurrent = 4\ncheck_interval = 0\n')
  const added = addRunner(ONE, { name: 'three', kubernetes: { image: 'a' } })
  expect(added.startsWith(ONE.trimEnd())).toBe(true)
  expect(parse(added)).toMatchObject({ runners: [{}, {}, { name: 'three', kubernetes: { image: 'a' } }] })
})

test('a change of a text in an unusual form has the same meaning', () => {
  const inline = 'runners = [{ name = "one", token = "a" }, { name = "two" }]\nconcurrent = 2'
  expect(parse(setRunnerKeys(inline, 1, { token: 'b' }))).toEqual({
    runners: [
      { name: 'one', token: 'a' },
      { name: 'two', token: 'b' },
    ],
    concurrent: 2,
  })
  expect(parse(removeRunner(inline, 0))).toEqual({ runners: [{ name: 'two' }], concurrent: 2 })
})

test('changes mean what they say, whatever the names and values', () => {
  const word = fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' })
  const runner = fc.record({ name: word, token: word, kubernetes: fc.dictionary(word, word, { maxKeys: 3 }) })
  fc.assert(
    fc.property(fc.array(runner, { minLength: 1, maxLength: 3 }), fc.nat(2), word, (runners, n, token) => {
      const index = n % runners.length
      const text = runners.reduce((before, one) => addRunner(before, one), '# kept\n')
      expect(text).toContain('# kept')
      expect(parse(text)).toEqual({ runners })
      expect(parse(setRunnerKeys(text, index, { token }))).toEqual({
        runners: runners.map((one, at) => (at === index ? { ...one, token } : one)),
      })
      const { runners: left = [] } = parse(removeRunner(text, index))
      expect(left).toEqual(runners.toSpliced(index, 1))
    }),
    { numRuns: 200 },
  )
})

test('a template gives what a registration leaves open, and never a token', () => {
  const template = readTemplate(
    '[[runners]]\ntoken = "x"\nlimit = 3\n[runners.kubernetes]\nimage = "a"\nnamespace = "b"\n',
    'template.toml',
  )
  expect(template).not.toHaveProperty('token')
  expect(mergeTemplate({ name: 'n', limit: 0, kubernetes: { image: 'c', namespace: '' } }, template)).toEqual({
    name: 'n',
    limit: 3,
    kubernetes: { image: 'c', namespace: 'b' },
  })
  expect(() => readTemplate('concurrent = 1', 'template.toml')).toThrow('must have exactly one [[runners]], and has 0')
})

test('the file is written whole, for the user alone, one change after the other', async () => {
  const file = join(folder(), 'below', 'config.toml')
  await Promise.all(['one', 'two', 'three'].map((name) => changeConfigFile(file, (text) => addRunner(text, { name }))))
  expect(parse(readFileSync(file, 'utf8'))).toEqual({ runners: [{ name: 'one' }, { name: 'two' }, { name: 'three' }] })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(() => loadConfig(file)).toThrow(
    expect.objectContaining({
      code: 'config-invalid',
      details: expect.objectContaining({
        problems: expect.arrayContaining([{ line: 1, path: 'runners[0].executor', message: 'the executor is missing' }]),
      }),
    }),
  )
  expect(() => loadConfig(`${file}.absent`)).toThrow('does not exist')
})

test('the system ID stays the same, and each configuration file and each pod of one machine has its own (G003, G105)', () => {
  const one = folder()
  const machine = join(one, 'machine-id')
  writeFileSync(machine, '0123456789abcdef0123456789abcdef\n')
  const config = join(one, 'config.toml')
  const id = systemIdFor(config, {}, machine)
  expect(id).toMatch(/^s_[0-9a-f]{12}$/)
  expect(systemIdFor(config, {}, machine)).toBe(id)
  expect(readFileSync(join(one, '.runner_system_id'), 'utf8')).toBe(`${id}\n`)
  rmSync(join(one, '.runner_system_id'))
  expect(systemIdFor(config, {}, machine)).toBe(id)
  const [beside, elsewhere] = [join(one, 'other.toml'), join(folder(), 'config.toml')]
  const others = [beside, elsewhere].map((file) => systemIdFor(file, {}, machine))
  expect(new Set([id, ...others]).size).toBe(3)
  expect([beside, elsewhere, config].map((file) => systemIdFor(file, {}, machine))).toEqual([...others, id])
  const pod = { KUBERNETES_SERVICE_HOST: '10.0.0.1' }
  const pods = [1, 2].map(() => systemIdFor(join(folder(), 'config.toml'), pod, machine))
  expect(new Set([...pods, id]).size).toBe(3)
  for (const each of pods) expect(each).toMatch(/^r_[0-9a-f]{12}$/)
})

test.each([
  ['90s', 90_000],
  ['1h30m', 5_400_000],
  ['1.5h', 5_400_000],
  ['500ms', 500],
  ['0', 0],
  ['-5m', -300_000],
  ['5', undefined],
  ['5 m', undefined],
  ['', undefined],
])('the duration %s has %s ms', (text, ms) => {
  expect(parseGoDuration(text)).toBe(ms)
})

test('the default file is that of the original', () => {
  expect(defaultConfigFile({ CONFIG_FILE: '/a/b.toml' })).toBe('/a/b.toml')
  expect(defaultConfigFile({ HOME: '/home/ci' })).toMatch(/gitlab-runner\/config\.toml$/)
})
