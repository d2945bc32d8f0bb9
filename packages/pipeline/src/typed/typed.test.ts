import { describe, expect, test } from 'vitest'
import type { Plan } from '@windlass/plan'
import { compile } from '../compile/compile.ts'
import { BUILT_IN_CATALOG, BUILT_IN_STEP_TYPES } from './built-in.ts'
import { catalogOf, joinCatalogs, partial, toCatalogEntry } from './catalog.ts'
import { checkStepType } from './check-step-type.ts'
import { isStepType, readStepType } from './manifest.ts'
import { compareForLatest, isVersion, latestVersion } from './version.ts'

function manifest(spec: string, name = 'acme/it', version = '1.0.0'): string {
  return `version: '1.0'\nkind: step-type\nmetadata: {name: ${name}, version: ${version}}\nspec:\n${spec}`
}

const MAIN = `  steps:\n    main: {image: alpine, commands: ['echo \${{WHO}}']}\n`
const SCHEMA = `  arguments: '{"type":"object","additionalProperties":false,"required":["WHO"],"properties":{"WHO":{"type":"string"},"N":{"type":"integer","default":3},"ON":{"type":"boolean"},"TAGS":{"type":"array","items":{"type":"string","pattern":"^[a-z]+$"}},"MODE":{"enum":["fast","slow"],"default":"fast"},"DEEP":{"type":"object","properties":{"A":{"default":1}}}}}'\n`

interface Use {
  readonly args?: string
  readonly type?: string
  readonly more?: string
  readonly variables?: Readonly<Record<string, string>>
}

function use(
  texts: readonly string[],
  { args = '{WHO: you}', type = 'acme/it:1.0.0', more = '', variables = {} }: Use = {},
): ReturnType<typeof compile> {
  const own = catalogOf(texts.flatMap((text) => toCatalogEntry({ text, file: 'm.yml' }) ?? []))
  const text = `version: '1.0'\nsteps:\n  one:\n    type: ${type}\n    arguments: ${args}\n${more}`
  const layer = {
    level: 'build',
    variables: Object.fromEntries(Object.entries(variables).map(([key, value]) => [key, { value }])),
  } as const
  return compile({ text, file: 'p.yml' }, { stepTypes: joinCatalogs(own, BUILT_IN_CATALOG), variables: [layer] })
}

function messages({ problems }: Pick<ReturnType<typeof compile>, 'problems'>): string[] {
  return problems.map(({ file, line, column, severity, message }) => `${file}:${line}:${column} ${severity} ${message}`)
}

function names(plan: Plan | undefined): string[] {
  return plan?.steps.map(({ name }) => name) ?? []
}

describe('types that builds may know', () => {
  const validate = (type: string, stepTypes = partial(BUILT_IN_CATALOG)): ReturnType<typeof compile> =>
    compile({ text: `version: '1.0'\nsteps:\n  one: { type: '${type}' }\n  two: { image: x }\n`, file: 'p.yml' }, { stepTypes })

  test('are a warning where only a server knows them, and the plan shows the step without its parts', () => {
    const { problems, plan } = validate('acme/deploy:2.1.0')
    expect(messages({ problems })).toEqual([
      'p.yml:3:16 warning step type "acme/deploy" is neither built in nor loaded; the step is not checked',
    ])
    expect(problems[0]?.hint).toContain('.windlass/steps')
    expect(plan?.steps).toMatchObject([
      { name: 'one', action: { kind: 'group', typed: { type: 'acme/deploy', version: '2.1.0' } } },
      { name: 'two', after: ['one'] },
    ])
  })

  test('are an error where all types are known, and so is a misspelled type of the language everywhere', () => {
    expect(messages(validate('acme/deploy:2.1.0', BUILT_IN_CATALOG))[0]).toBe(
      'p.yml:3:16 error step type "acme/deploy" does not exist',
    )
    expect(messages(validate('frestyle'))[0]).toContain('error step type "frestyle" does not exist. Did you mean "freestyle"?')
  })

  test('a version that the folder does not have is a warning, too', () => {
    const own = catalogOf([toCatalogEntry({ text: manifest(MAIN), file: 'm.yml' })].flatMap((entry) => entry ?? []))
    expect(messages(validate('acme/it:2.0.0', partial(own)))).toEqual([
      'p.yml:3:16 warning version 2.0.0 of step type "acme/it" is not loaded; the step is not checked',
    ])
  })
})

describe('versions of included types', () => {
  test.each(['pending-approval:1.0.2', 'deploy:1.0.0', 'freestyle:0.0.4'])('%s is the type of the language', (type) => {
    const { problems } = compile({ text: `version: '1.0'\nsteps:\n  one: { type: '${type}' }\n`, file: 'p.yml' })
    expect(problems.map(({ code }) => code).filter((code) => code.startsWith('step-'))).toEqual([])
    const plain = compile({ text: `version: '1.0'\nsteps:\n  one: { type: ${type.split(':')[0]} }\n`, file: 'p.yml' })
    expect(problems.map(({ message }) => message)).toEqual(plain.problems.map(({ message }) => message))
  })

  test('another version of codefresh-run is the included one, with a warning', () => {
    const { plan, problems } = use([], { type: 'codefresh-run:1.5.3', args: '{PIPELINE_ID: a/b}' })
    expect(messages({ problems })).toEqual([
      'p.yml:4:11 warning version 1.5.3 of step type "codefresh-run" is not included; 2.0.0 is used',
    ])
    expect(plan?.steps[0]?.action).toMatchObject({ typed: { type: 'codefresh-run', version: '2.0.0' } })
  })
})

describe('versions', () => {
  test.each(['1.0.0', '0.0.1-alpha.1', '1.2.3-0.3.7+build.5', '10.20.30'])('accepts %s', (text) =>
    expect(isVersion(text)).toBe(true),
  )
  test.each(['1', '1.0', 'v1.0.0', '01.0.0', '1.0.0-', '1.0.0-01', 'latest', ''])('rejects "%s"', (text) =>
    expect(isVersion(text)).toBe(false),
  )

  test('the latest is the highest release, and pre-releases come last (P169)', () => {
    const all = ['1.9.0', '2.0.0-rc.1', '1.10.0', '2.0.0-beta.11', '2.0.0-beta.2', '1.2.3', 'odd']
    expect(latestVersion(all)).toBe('1.10.0')
    expect(all.toSorted(compareForLatest)).toEqual([
      'odd',
      '2.0.0-beta.2',
      '2.0.0-beta.11',
      '2.0.0-rc.1',
      '1.2.3',
      '1.9.0',
      '1.10.0',
    ])
    expect(latestVersion(['2.0.0-rc.1', '1.0.0-rc.1'])).toBe('2.0.0-rc.1')
    expect(latestVersion([])).toBeUndefined()
  })
})

describe('manifests', () => {
  test('reads a manifest with its schema as text or as an object, and without "version"', () => {
    const { manifest: read } = readStepType({ text: manifest(SCHEMA + MAIN).replace("version: '1.0'\n", ''), file: 'm.yml' })
    expect(read).toMatchObject({ name: 'acme/it', version: '1.0.0', arguments: { required: ['WHO'] } })
    expect(isStepType({ text: manifest(MAIN), file: '' })).toBe(true)
    expect(isStepType({ text: 'kind: pipeline\n', file: '' })).toBe(false)
  })

  test.each([
    ['kind: step-type\n', ['"metadata" is required', '"spec" is required']],
    [
      manifest('  arguments: "{"\n' + MAIN),
      ['"arguments" must be JSON: Expected property name or \'}\' in JSON at position 1 (line 1 column 2)'],
    ],
    [manifest('  arguments: {properties: {A: {type: text}}}\n' + MAIN), ['"arguments" has an unknown type "text"']],
    [manifest('  arguments: {$ref: "#"}\n' + MAIN), ['"arguments" must not use "$ref"']],
    [manifest(MAIN, 'a b'), ['"name" must be a name or account/name of letters, digits, ".", "_" and "-"']],
    [manifest(MAIN, 'a', 'one'), ['"version" must be a semantic version. Current value: one']],
    [manifest('  arguments: {}\n'), ['"steps" is required']],
    [manifest(`${MAIN}  stepsTemplate: x\n`), ['"stepsTemplate" conflict with forbidden peer "steps"']],
    [manifest('  steps: {}\n'), ['"steps" must contain at least 1 entries']],
  ])('reports problems: %#', (text, messages) => {
    expect(readStepType({ text, file: 'm.yml' }).problems.map(({ message }) => message)).toEqual(messages)
  })

  test('checks steps and template at their positions', () => {
    const steps = checkStepType({ text: manifest('  steps:\n    main:\n      image: 5\n'), file: 'm.yml' })
    expect(messages(steps)).toEqual(['m.yml:7:14 error "image" must be a string. Current value: 5'])
    const template = checkStepType({
      text: manifest('  stepsTemplate: |-\n    main:\n      image: {{ nothing }}\n'),
      file: 'm.yml',
    })
    expect(messages(template)).toEqual(['m.yml:7:17 error invalid template: function "nothing" not defined'])
    for (const { text, name } of BUILT_IN_STEP_TYPES) expect(messages(checkStepType({ text, file: name }))).toEqual([])
  })

  test('refuses the name of a type of the language, which a pipeline would get instead', () => {
    const found = checkStepType({ text: manifest(MAIN, 'build'), file: 'm.yml' })
    expect(messages(found)).toEqual(['m.yml:1:1 error "build" is a type of the pipeline language'])
  })
})

describe('arguments', () => {
  test('adds defaults and reports every invalid argument at its position (P166)', () => {
    const good = use([manifest(SCHEMA + MAIN)], { args: '{WHO: you, DEEP: {}}' })
    expect(good.plan?.steps[0]?.action).toMatchObject({
      typed: { arguments: { WHO: 'you', N: 3, MODE: 'fast', DEEP: { A: 1 } } },
    })
    const bad = use([manifest(SCHEMA + MAIN)], { args: '{N: 1.5, ON: maybe, TAGS: [ok, Not], MODE: fasst, MORE: 1}' })
    expect(messages(bad)).toEqual([
      'p.yml:3:3 error "WHO" is required',
      'p.yml:5:20 error "N" must be integer. Current value: 1.5',
      'p.yml:5:29 error "ON" must be boolean. Current value: maybe',
      'p.yml:5:47 error "TAGS[1]" fails to match the pattern ^[a-z]+$. Current value: Not',
      'p.yml:5:59 error "MODE" must be one of [fast, slow]. Current value: fasst. Did you mean "fast"?',
      'p.yml:5:72 error "MORE" is not allowed',
    ])
  })

  test('accepts a text with an unknown variable, and checks the value of a known one', () => {
    const args = "{WHO: '${{A}}', ON: '${{B}}', N: '${{C}}', MODE: '${{D}}'}"
    expect(messages(use([manifest(SCHEMA + MAIN)], { args }))).toEqual([])
    expect(messages(use([manifest(SCHEMA + MAIN)], { args, variables: { B: 'true', C: '5', D: 'slow' } }))).toEqual([])
    const wrong = use([manifest(SCHEMA + MAIN)], { args, variables: { B: 'perhaps', C: 'x', D: 'odd' } })
    expect(messages(wrong)).toHaveLength(3)
  })

  test('accepts extra arguments unless additionalProperties is false', () => {
    const open = manifest(`  arguments: {type: object, definitions: {}, patterns: []}\n${MAIN}`)
    expect(use([open], { args: '{ANY: [1], THING: {a: b}}' }).plan?.steps[0]?.action).toMatchObject({
      typed: { arguments: { ANY: [1] } },
    })
    expect(messages(use([open], { args: '[1]' }))).toEqual(['p.yml:5:16 error "arguments" must be an object'])
  })
})

test('rejects too expensive arguments before checking them', () => {
  const text = manifest(`  arguments: {type: object, properties: {L: {type: array, uniqueItems: true}}}\n${MAIN}`)
  const many = use([text], { args: `{L: [${Array.from({ length: 60_000 }, (_, index) => index).join(', ')}]}` })
  expect(messages(many)).toEqual([expect.stringContaining('"arguments" are too large to check')])
  const long = use([text], {
    args: `{L: [${Array.from({ length: 5000 }, (_, at) => `'${at}\${{BIG}}'`).join(', ')}]}`,
    variables: { BIG: 'x'.repeat(1_000_000) },
  })
  expect(long.plan).toBeDefined()
})

describe('typed steps in a pipeline', () => {
  test('accept camel-case fields in parts, run them in the volume, and keep their common fields', () => {
    const text = manifest(`  steps:
    clone: {type: git-clone, repo: a/b}
    build: {type: build, imageName: x, workingDirectory: '\${{clone}}', disablePush: true, failFast: false}
    last: {image: alpine, commands: [ls]}
`)
    const { plan, problems } = use([text], {
      more: '    title: All\n    retry: {maxAttempts: 2}\n    timeout: 5m\n    working_directory: /codefresh/volume/app\n',
    })
    expect(messages({ problems })).toEqual([])
    const [group, , build, last] = plan?.steps ?? []
    expect(group).toMatchObject({
      title: 'All',
      timeout: '5m',
      retry: { maxAttempts: 2 },
      action: { kind: 'group', mode: 'serial' },
    })
    expect(build).toMatchObject({
      name: 'one.build',
      parent: 'one',
      after: ['one.clone'],
      failFast: false,
      action: { workingDirectory: '${{clone}}', disablePush: true },
    })
    expect(last).toMatchObject({ action: { workingDirectory: '/codefresh/volume/app' }, position: { line: 3 } })
  })

  test('report one error for an unknown type, an unknown version and endless nesting', () => {
    const text = manifest(MAIN)
    expect(messages(use([text], { type: 'acme/itt:1.0.0' }))).toEqual([
      'p.yml:4:11 error step type "acme/itt" does not exist. Did you mean "acme/it"?',
    ])
    expect(messages(use([text], { type: 'acme/it:2.0.0' }))).toEqual([
      'p.yml:4:11 error version 2.0.0 of step type "acme/it" does not exist',
    ])
    const endless = manifest(`  steps: {again: {type: 'acme/it:1.0.0'}}\n`)
    expect(messages(use([endless]))).toEqual([expect.stringContaining('typed steps are nested more than 8 deep')])
  })

  test('are not checked without a catalog, and give no plan', () => {
    const { plan, problems } = compile({ text: `version: '1.0'\nsteps: {a: {type: 'acme/it:1.0.0'}}\n`, file: 'p.yml' })
    expect(plan).toBeUndefined()
    expect(problems.map(({ severity, code }) => `${severity} ${code}`)).toEqual(['warning step-type'])
  })

  test('have parts in each child of a matrix', () => {
    const { plan } = use([manifest(MAIN)], { more: '    matrix: {environment: [A=1, A=2]}\n' })
    expect(names(plan).filter((name) => name.endsWith('.main'))).toHaveLength(2)
  })

  test('pass values to templates and report problems of templates and of their output (P167)', () => {
    const template = (body: string): string =>
      manifest(`  delimiters: {left: '[[', right: ']]'}\n  stepsTemplate: |-\n${body.replace(/^/gm, '    ')}\n`)
    const range = template(
      "[[ range $i, $w := .Arguments.WHO ]]\npart_[[ $i ]]: {image: alpine, commands: ['echo [[ $w ]]']}\n[[ end ]]",
    )
    expect(names(use([range], { args: "{WHO: [a, '${{B}}']}" }).plan)).toEqual(['one', 'one.part_0', 'one.part_1'])
    expect(messages(use([template('main: [[ .Arguments.WHO.x ]]')]))).toEqual([
      "p.yml:4:11 error the template of acme/it:1.0.0 cannot be rendered: line 1, column 10: can't evaluate field x in type string",
    ])
    expect(messages(use([template('main: {image: [[ .Arguments.WHO ]]')]))[0]).toMatch(
      /the rendered template of acme\/it:1\.0\.0 is invalid: line 1/,
    )
    expect(messages(use([template('main: {image: 5}')]))).toEqual([
      'acme/it:1.0.0 (rendered):1:15 error "image" must be a string. Current value: 5',
    ])
    const guess = use([template('main: {image: [[ if eq .Arguments.WHO "x" ]]a[[ else ]]b[[ end ]]}')], {
      args: "{WHO: '${{LATER}}'}",
    })
    expect(messages(guess)).toEqual([
      'p.yml:5:16 warning the template of acme/it:1.0.0 depends on a value that is not known when the build is created',
    ])
    expect(guess.plan).toBeDefined()
  })

  test('compile with any arguments or give problems', () => {
    const text = BUILT_IN_STEP_TYPES[0]?.text ?? ''
    const values = ['[]', '{}', 'null', '5', "'${{X}}'", "'a: b\\n- c'", '[[1, {a: [b]}]]', '"\\u0000"', "'''\"`[[ ]]'", 'true']
    for (const a of values)
      for (const b of values) {
        const { plan, problems } = use([text], {
          type: 'codefresh-run:2.0.0',
          args: `{PIPELINE_ID: ${a}, VARIABLE: ${b}, BRANCH: ${a}, DETACH: ${b}}`,
        })
        expect(plan !== undefined || problems.length > 0).toBe(true)
      }
  })
})
