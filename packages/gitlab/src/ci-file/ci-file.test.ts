import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { isFault } from '@windlass/kit'
import { expect, onTestFinished, test } from 'vitest'
import { openCiFile, type CiFile } from './ci-file.ts'
import type { CiJob } from './ci-job.ts'

type Files = Readonly<Record<string, string>>

function folderWith(files: Files): string {
  const root = mkdtempSync(join(tmpdir(), 'windlass-ci-file-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}

function open(given: string | Files, root = folderWith(typeof given === 'string' ? { '.gitlab-ci.yml': given } : given)): CiFile {
  return openCiFile({ root, file: '.gitlab-ci.yml', valueOf: (name) => ({ CI_PROJECT_NAME: 'app' })[name] })
}

const jobOf = (given: string | Files, name = 'job'): CiJob => open(given).job(name).job

/** Returns all warnings of a job as `file:line: message`. */
function warningsOf(given: string | Files, name = 'job'): string[] {
  const file = open(given)
  return [...file.warnings, ...file.job(name).warnings].map(({ file: path, line, message }) => `${path}:${line}: ${message}`)
}

function errorOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    if (isFault(error, 'document-invalid', 'not-found', 'file-not-found')) return error.message
    throw error
  }
  throw new Error('nothing was thrown')
}

const valuesOf = ({ variables }: CiJob): Record<string, string> =>
  Object.fromEntries(variables.map(({ key, value }) => [key, value ?? '']))

test('a job has its own keywords, those of default, and the variables of the file', () => {
  const job = jobOf(`
variables: {GLOBAL: 1, BOTH: file, LONG: {value: text, description: what it is}}
default:
  image: debian:13
  before_script: [echo before]
  timeout: 1h 30m
job:
  stage: build
  variables: {BOTH: job, RAW: {value: $GLOBAL, expand: false}, MODE: 0644, EMPTY: }
  script:
    - echo one
    - |
      echo two
      echo three
  after_script: echo after
`)
  expect(job).toMatchObject({
    name: 'job',
    stage: 'build',
    script: ['echo before', 'echo one', 'echo two\necho three\n'],
    afterScript: ['echo after'],
    image: { name: 'debian:13' },
    timeoutS: 5_400,
    allowFailure: false,
  })
  // YAML 1.1, as on a GitLab server: an octal number.
  expect(valuesOf(job)).toEqual({ GLOBAL: '1', BOTH: 'job', LONG: 'text', RAW: '$GLOBAL', MODE: '420', EMPTY: '' })
  expect(job.variables.find(({ key }) => key === 'RAW')).toMatchObject({ raw: true })
})

test('own keywords replace those of default, and the older keywords outside of jobs count as defaults', () => {
  const text = `
image: old
default: {before_script: [echo default], services: [redis]}
job: {before_script: [], script: [x], services: []}
other: {script: [x]}
none: {script: [x], inherit: {default: false, variables: [A]}}
some: {script: [x], image: own, inherit: {default: [services], variables: false}}
variables: {A: 1, B: 2}
`
  expect(jobOf(text)).toMatchObject({ script: ['x'], image: { name: 'old' }, services: [] })
  expect(jobOf(text, 'other')).toMatchObject({ script: ['echo default', 'x'], services: [{ name: 'redis' }] })
  expect(jobOf(text, 'none')).toMatchObject({ script: ['x'], image: undefined, services: [], variables: [{ key: 'A' }] })
  expect(jobOf(text, 'some')).toMatchObject({
    script: ['x'],
    image: { name: 'own' },
    services: [{ name: 'redis' }],
    variables: [],
  })
})

test('extends merges tables over several levels, and replaces lists', () => {
  const job = jobOf(`
.base: {image: base, script: [base], variables: {A: base, B: base}, cache: {key: k, paths: [base]}}
.middle: {extends: .base, variables: {B: middle, C: middle}, cache: {policy: pull}}
.other: {image: other, variables: {C: other}}
job: {extends: [.middle, .other], variables: {D: job}, cache: {paths: [own]}, script: [own]}
`)
  expect(valuesOf(job)).toEqual({ A: 'base', B: 'middle', C: 'other', D: 'job' })
  expect(job).toMatchObject({ image: { name: 'other' }, script: ['own'], caches: [{ key: 'k', paths: ['own'], policy: 'pull' }] })
})

test('jobs that extend each other, unknown names and too many levels are errors with their lines', () => {
  expect(errorOf(() => jobOf('a: {extends: job}\njob: {extends: a, script: x}'))).toBe(
    '.gitlab-ci.yml:1: jobs extend each other: job → a → job',
  )
  expect(errorOf(() => jobOf('.base: {}\njob:\n  script: x\n  extends: .bse'))).toBe(
    '.gitlab-ci.yml:4: the job ".bse" does not exist',
  )
  const levels = Array.from({ length: 12 }, (_, n) => `.l${n}: {extends: .l${n + 1}}`).join('\n')
  expect(errorOf(() => jobOf(`${levels}\n.l12: {script: x}\njob: {extends: .l0}`))).toContain('has more than 11 levels')
})

test('!reference takes values of other jobs after their extends, also within lists and references', () => {
  const job = jobOf(`
.one: {script: [echo 1, !reference [.two, script]], variables: {A: 1}}
.two: {extends: .three}
.three: {script: [echo 2, echo 3]}
job:
  script:
    - !reference [.one, script]
    - echo end
  variables: !reference [.one, variables]
  image: !reference [.names, image]
.names: {image: debian}
`)
  expect(job).toMatchObject({ script: ['echo 1', 'echo 2', 'echo 3', 'echo end'], image: { name: 'debian' } })
  expect(valuesOf(job)).toEqual({ A: '1' })
})

test('references in a cycle and to what does not exist are errors with their lines', () => {
  expect(
    errorOf(() => jobOf('.a:\n  script: [!reference [job, script]]\njob:\n  script:\n    - !reference [.a, script]')),
  ).toMatch(/^\.gitlab-ci\.yml:5: references contain each other: \[\.a, script\] → \[job, script\] → \[\.a, script\]$/)
  expect(errorOf(() => jobOf('.a: {image: x}\njob:\n  script:\n    - !reference [.a, script]'))).toBe(
    '.gitlab-ci.yml:4: !reference [.a, script]: ".a" has no "script"',
  )
  expect(errorOf(() => jobOf('job: {script: !reference x}'))).toContain('!reference')
})

test('anchors, aliases and << work, and the own key wins', () => {
  const job = jobOf(`
.a: &a {image: a, script: &lines [echo a]}
.b: &b {image: b, variables: {B: 1}}
job:
  <<: [*a, *b]
  before_script: *lines
  tags: []
other: {<<: *b, image: own, script: [x]}
`)
  expect(job).toMatchObject({ image: { name: 'a' }, script: ['echo a', 'echo a'] })
  expect(valuesOf(job)).toEqual({ B: '1' })
})

test('includes of local files are merged in order below the file, also with a pattern and a variable', () => {
  const files = {
    '.gitlab-ci.yml': `
include:
  - local: /ci/a.yml
  - ci/more/*.yml
  - local: ci/$CI_PROJECT_NAME.yaml
job: {variables: {C: own}}
`,
    'ci/a.yml': 'include: ci/nested.yml\njob: {image: a, variables: {A: a, C: a}, script: [a]}',
    'ci/nested.yml': 'job: {image: nested, variables: {N: nested}}',
    'ci/more/1.yml': 'job: {image: one, variables: {A: one}}',
    'ci/more/2.yml': 'job: {image: two}',
    'ci/more/deep/3.yml': 'job: {image: three}',
    'ci/app.yaml': 'stages: [test]\nsecond: {script: [x]}',
  }
  const job = jobOf(files)
  expect(job).toMatchObject({ image: { name: 'two' }, script: ['a'] })
  expect(valuesOf(job)).toEqual({ A: 'one', C: 'own', N: 'nested' })
  expect(
    open(files)
      .list()
      .map(({ name, at }) => `${name} ${at.file}:${at.line}`),
  ).toEqual(['job .gitlab-ci.yml:6', 'second ci/app.yaml:2'])
})

test('files outside of the repository are refused, also behind links, and so are cycles', () => {
  const include = (path: string): string => `include: ${path}\njob: {script: x}`
  expect(errorOf(() => open(include('../outside.yml')))).toBe('.gitlab-ci.yml:1: "../outside.yml" leads out of the repository')
  expect(errorOf(() => open(include('/a/../../outside.yml')))).toContain('leads out of the repository')
  expect(errorOf(() => open(include('missing.yml')))).toContain('the file "missing.yml" does not exist in the repository')
  expect(errorOf(() => open(include('/etc/passwd')))).toContain('is not the path of a .yml or .yaml file')
  expect(errorOf(() => open(include('none/*.yml')))).toContain('no file matches')
  const outside = folderWith({ 'secret.yml': 'password: x' })
  const root = folderWith({ '.gitlab-ci.yml': include('link.yml') })
  symlinkSync(join(outside, 'secret.yml'), join(root, 'link.yml'))
  expect(errorOf(() => open('', root))).toBe('.gitlab-ci.yml:1: "link.yml" is a link that leads out of the repository')
  const second = folderWith({ '.gitlab-ci.yml': include('folder/secret.yml') })
  symlinkSync(outside, join(second, 'folder'))
  expect(errorOf(() => open('', second))).toContain('is a link that leads out of the repository')
  expect(errorOf(() => open({ '.gitlab-ci.yml': include('a.yml'), 'a.yml': include('.gitlab-ci.yml') }))).toBe(
    'a.yml:1: the files include each other: .gitlab-ci.yml → a.yml → .gitlab-ci.yml',
  )
})

test('includes from elsewhere are warnings, and named where a job is missing', () => {
  const text = `
include:
  - project: group/ci
    file: deploy.yml
  - https://example.com/ci.yml
  - {template: Auto-DevOps.gitlab-ci.yml}
  - component: gitlab.com/a/b@1
job: {script: [x]}
broken: {extends: .remote, script: [x]}
`
  expect(warningsOf(text)).toEqual([
    '.gitlab-ci.yml:3: a local run does not include project group/ci: its jobs and settings are missing',
    '.gitlab-ci.yml:5: a local run does not include remote https://example.com/ci.yml: its jobs and settings are missing',
    '.gitlab-ci.yml:6: a local run does not include template Auto-DevOps.gitlab-ci.yml: its jobs and settings are missing',
    '.gitlab-ci.yml:7: a local run does not include component gitlab.com/a/b@1: its jobs and settings are missing',
  ])
  const hint = /It may be in the include project group\/ci \(\.gitlab-ci\.yml:3\), or in 3 more files/
  expect(() => open(text).job('deploy')).toThrow(
    expect.objectContaining({ code: 'not-found', hint: expect.stringMatching(hint) }),
  )
  expect(() => open(text).job('broken')).toThrow(expect.objectContaining({ hint: expect.stringMatching(hint) }))
})

test('each keyword without an effect is a warning with its line, and unknown ones get the nearest name', () => {
  expect(
    warningsOf(`workflow: {rules: []}
default:
  tags: [linux]
job:
  rules:
    - if: $CI
  needs: [other]
  environment: production
  parallel: 3
  retry: {max: 2}
  scirpt: [x]
  script: [x]
  artifacts: {reports: {junit: x.xml}, paths: [x]}
  cache: {paths: [x], untracked: true}
  services: [{name: redis, kubernetes: {user: 1}}]
`),
  ).toEqual([
    '.gitlab-ci.yml:1: "workflow" has no effect in a local run: the job runs',
    '.gitlab-ci.yml:3: "tags" of the job "job" has no effect in a local run: the job runs on this machine',
    '.gitlab-ci.yml:5: "rules" of the job "job" has no effect in a local run: the job runs, without variables of rules',
    '.gitlab-ci.yml:7: "needs" of the job "job" has no effect in a local run: no other job runs before it, and the artifacts of other jobs are missing',
    '.gitlab-ci.yml:8: "environment" of the job "job" has no effect in a local run: nothing is deployed to an environment, and its variables are missing',
    '.gitlab-ci.yml:9: "parallel" of the job "job" has no effect in a local run: the job runs once; set the variables of a matrix with --env',
    '.gitlab-ci.yml:10: "retry" of the job "job" has no effect in a local run: the job runs once',
    '.gitlab-ci.yml:11: unknown keyword "scirpt" in the job "job" has no effect; did you mean "script"?',
    expect.stringContaining('.gitlab-ci.yml:15: "services:kubernetes" of the job "job" has no effect'),
    expect.stringContaining('.gitlab-ci.yml:14: "cache:untracked" of the job "job" has no effect'),
    expect.stringContaining('.gitlab-ci.yml:13: "artifacts:reports" of the job "job" has no effect'),
  ])
  expect(warningsOf('job: {script: [x], image: a, stage: build, needs: [], rules: }')).toEqual([])
})

test.each([
  ['job: {trigger: group/app}', 'starts another pipeline with `trigger`'],
  ['job: {run: [{name: a}]}', 'has `run` with CI steps'],
  ['job: {image: x}', 'the job "job" has no script'],
  ['job: {script: []}', 'the job "job" has no script'],
  ['job:\n  script:\n    - echo a: b', '.gitlab-ci.yml:3: script must be a command'],
  ['job: {script: [x], timeout: soon}', 'timeout is "soon", which is not a duration'],
  ['job: {script: [x], timeout: 0}', 'timeout must be between'],
  ['job: {script: [x], cache: {when: never, paths: [x]}}', 'cache:when must be one of on_success, on_failure, always'],
  ['job: {script: [x], image: {entrypoint: [x]}}', 'image of the job "job" has no name'],
  ['job: {script: [x], variables: [A]}', 'variables must be a table'],
  ['job: {script: [x], variables: {"A B": 1}}', '"A B" cannot be the name of a variable'],
  ['job: {script: [x], allow_failure: {exit_codes: [x]}}', 'which is not an exit code'],
  ['job: [x', 'the YAML is not valid'],
  ['', 'the file is empty'],
  ['- a', 'must be a table of jobs'],
  ['spec: {inputs: {}}\n---\njob: {script: [x]}', 'a header with `spec`'],
  ['job: {script: [*none]}', 'no anchor'],
])('%j is an error: %s', (text, message) => {
  expect(errorOf(() => jobOf(text))).toContain(message)
})

test('a name that is not a job gets a hint', () => {
  const text = '.hidden: {script: [x]}\nbuild: {script: [x]}\nstages: [a]'
  const hintOf = (name: string) => {
    try {
      open(text).job(name)
    } catch (error) {
      return isFault(error, 'not-found') ? error.hint : undefined
    }
    return undefined
  }
  expect(hintOf('.hidden')).toContain('A hidden job is only a template')
  expect(hintOf('biuld')).toBe('Did you mean "build"?')
  expect(hintOf('stages')).toContain('--list')
  expect(open(text).list()).toMatchObject([{ name: 'build', stage: 'test' }])
})

/** A hidden table with this many keys, from line 1 on. */
const wide = (keys: number): string[] => ['.wide: &wide', ...Array.from({ length: keys }, (_, n) => `  k${n}: v`)]

// The line of the error shows how much was copied before it: the size of the whole file would name line 1.
test.each([
  { what: 'tables that merge one anchor', lines: (n: number) => [`t${n}:`, '  <<: *wide'], at: 1_000 + 2 * 101 },
  {
    what: 'one table that merges it again and again',
    lines: (n: number) => [...(n === 0 ? ['t:'] : []), '  <<: *wide'],
    at: 1_001 + 101,
  },
  { what: 'merges whose keys the table has', lines: (n: number) => [`t${n}: {<<: *wide, k0: 1}`], at: 1_000 + 101 },
])('$what stop at the limit, not when all are made', ({ lines, at }) => {
  const text = [...wide(999), ...Array.from({ length: 300 }, (_, n) => lines(n)).flat()].join('\n')
  expect(errorOf(() => open(text))).toBe(
    `.gitlab-ci.yml:${at}: \`<<\`, \`extends\` and references copy more than 100000 values up to here`,
  )
})

test('as many merges as fit into a file are read, and the size of the file counts after them', () => {
  const tables = (count: number): string =>
    [...wide(999), ...Array.from({ length: count }, (_, n) => `t${n}: {<<: *wide}`)].join('\n')
  expect(open(tables(98)).list()).toHaveLength(98)
  expect(errorOf(() => open(tables(100)))).toBe(
    '.gitlab-ci.yml:1: the value has more than 100000 values with those of its aliases and references',
  )
})

test('jobs that extend one wide table stop at the limit of all jobs', () => {
  const parents = '.wide, '.repeat(40)
  const lines = [...wide(999), ...Array.from({ length: 100 }, (_, n) => `t${n}: {extends: [${parents}], script: [x]}`)]
  const problems = open(lines.join('\n'))
    .list()
    .map(({ problem }) => problem)
  const stopped = problems.findIndex((problem) => problem !== undefined)
  // Each job copies its parents one after the other: 39 merges of two tables with 999 keys, and its own one. Its 1,000 keys and its script may have references.
  expect(stopped).toBe(Math.floor(3_000_000 / (39 * 2 * 999 + 1_000 + 1_000 + 1)))
  expect(problems[stopped]).toContain('copy more than 3000000 values up to here')
})

test('a few lines that mean billions of values are refused quickly', () => {
  const names = 'abcdefghi'.split('')
  const lines = names.map(
    (name, n) =>
      `${name}: &${name} [${Array(9)
        .fill(n === 0 ? 'x' : `*${names[n - 1]}`)
        .join(', ')}]`,
  )
  expect(errorOf(() => open(lines.join('\n')))).toContain('more than 100000 values')
  const jobs = names.map(
    (name, n) =>
      `.${name}: {script: [${Array(9)
        .fill(n === 0 ? 'x' : `!reference [.${names[n - 1]}, script]`)
        .join(', ')}]}`,
  )
  expect(errorOf(() => jobOf(`${jobs.join('\n')}\njob: {script: [!reference [.i, script]]}`))).toContain(
    'more than 100000 values',
  )
  expect(errorOf(() => open(`job: ${'['.repeat(200)}${']'.repeat(200)}`))).toContain('deeper than 100')
  expect(errorOf(() => open('a: &a [*a]'))).toContain('is within its own anchor')
  expect(errorOf(() => open(`a: ${'x'.repeat(1_100_000)}`))).toContain('has more than 1048576 bytes')
  expect(errorOf(() => jobOf(`job: {script: [x], timeout: "${'1'.repeat(5_000)}!"}`))).toContain('is not a duration')
})

test('names of objects of JavaScript are ordinary keys', () => {
  const job = jobOf('__proto__: {script: [x]}\njob: {script: [x], constructor: 1, variables: {__proto__: 1, toString: 2}}')
  expect(job.variables.map(({ key }) => key)).toEqual(['__proto__', 'toString'])
  expect(warningsOf('job: {script: [x], constructor: 1}')).toEqual([
    '.gitlab-ci.yml:1: unknown keyword "constructor" in the job "job" has no effect',
  ])
})

test('a list has jobs that cannot be run, with the reason', () => {
  const text =
    'include: https://example.com/ci.yml\ngood: {stage: build, script: [x]}\nbad:\n  extends: .missing\n  stage: deploy\n'
  expect(open(text).list()).toEqual([
    { name: 'good', stage: 'build', at: { file: '.gitlab-ci.yml', line: 2 } },
    {
      name: 'bad',
      stage: 'deploy',
      at: { file: '.gitlab-ci.yml', line: 4 },
      problem: '.gitlab-ci.yml:4: the job ".missing" does not exist',
    },
  ])
})

test('images, services, caches, artifacts and allow_failure have all their forms', () => {
  const job = jobOf(`
job:
  image: {name: app, entrypoint: [""], docker: {user: "1000"}, pull_policy: always}
  services:
    - redis:7
    - {name: postgres, alias: "db,pg", entrypoint: start, command: [a, b], variables: {P: x}, pull_policy: [never]}
  cache:
    - {paths: [a]}
    - {key: {files: [lock], prefix: $X}, paths: [b], policy: push, when: always, fallback_keys: [c]}
    - {key: unused}
  artifacts: {paths: [out], exclude: [out/x], when: on_failure}
  allow_failure: {exit_codes: [3, 4]}
  script: [x]
`)
  expect(job).toMatchObject({
    image: { name: 'app', entrypoint: [''], executor_opts: { kubernetes: { user: '1000' } }, pull_policy: ['always'] },
    services: [
      { name: 'redis:7' },
      {
        name: 'postgres',
        alias: 'db,pg',
        entrypoint: ['start'],
        command: ['a', 'b'],
        variables: [{ key: 'P', value: 'x' }],
        pull_policy: ['never'],
      },
    ],
    caches: [
      { key: 'default', paths: ['a'], policy: '', when: 'on_success', fallbackKeys: [] },
      { key: { files: ['lock'], prefix: '$X' }, paths: ['b'], policy: 'push', when: 'always', fallbackKeys: ['c'] },
    ],
    artifacts: { paths: ['out'], exclude: ['out/x'], when: 'on_failure' },
    allowFailure: [3, 4],
  })
})

test.each([
  ['90', 90],
  ['90 minutes', 5_400],
  ['1h 30m', 5_400],
  ['2 hours and 5 min, 1 second', 7_501],
  ['1.5 days', 129_600],
])('the duration "%s" is %i s', (text, seconds) => {
  expect(jobOf(`job: {script: [x], timeout: "${text}"}`).timeoutS).toBe(seconds)
})
