import { describe, expect, test } from 'vitest'
import type { Plan } from '@windlass/plan'
import { compile } from '../compile.ts'
import { BUILT_IN_CATALOG, BUILT_IN_STEP_TYPES } from './built-in.ts'
import { catalogOf, joinCatalogs, toCatalogEntry } from './catalog.ts'
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

function told({ problems }: Pick<ReturnType<typeof compile>, 'problems'>): string[] {
  return problems.map(({ file, line, column, severity, message }) => `${file}:${line}:${column} ${severity} ${message}`)
}

function names(plan: Plan | undefined): string[] {
  return plan?.steps.map(({ name }) => name) ?? []
}

describe('versions', () => {
  test.each(['1.0.0', '0.0.1-alpha.1', '1.2.3-0.3.7+build.5', '10.20.30'])('%s is one', (text) =>
    expect(isVersion(text)).toBe(true),
  )
  test.each(['1', '1.0', 'v1.0.0', '01.0.0', '1.0.0-', '1.0.0-01', 'latest', ''])('"%s" is none', (text) =>
    expect(isVersion(text)).toBe(false),
  )

  test('P169: the latest is the highest release; pre-releases come last', () => {
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
  test('a manifest is read with its schema as text or as an object; an official one may lack "version"', () => {
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
    [manifest(MAIN, 'a b'), ['"name" must be a name or account/name of letters, digits and . _ -']],
    [manifest(MAIN, 'a', 'one'), ['"version" must be a semantic version. Current value: one']],
    [manifest('  arguments: {}\n'), ['"steps" is required']],
    [manifest(`${MAIN}  stepsTemplate: x\n`), ['"stepsTemplate" conflict with forbidden peer "steps"']],
    [manifest('  steps: {}\n'), ['"steps" must contain at least 1 entries']],
  ])('tells what is wrong: %#', (text, messages) => {
    expect(readStepType({ text, file: 'm.yml' }).problems.map(({ message }) => message)).toEqual(messages)
  })

  test('its steps and its template are checked at their places', () => {
    const steps = checkStepType({ text: manifest('  steps:\n    main:\n      image: 5\n'), file: 'm.yml' })
    expect(told(steps)).toEqual(['m.yml:7:14 error "image" must be a string. Current value: 5'])
    const template = checkStepType({
      text: manifest('  stepsTemplate: |-\n    main:\n      image: {{ nothing }}\n'),
      file: 'm.yml',
    })
    expect(told(template)).toEqual(['m.yml:7:17 error the template cannot be read: function "nothing" not defined'])
    for (const { text, name } of BUILT_IN_STEP_TYPES) expect(told(checkStepType({ text, file: name }))).toEqual([])
  })
})

describe('arguments', () => {
  test('P166: defaults are put in, and all that does not fit is told at its place', () => {
    const good = use([manifest(SCHEMA + MAIN)], { args: '{WHO: you, DEEP: {}}' })
    expect(good.plan?.steps[0]?.action).toMatchObject({
      typed: { arguments: { WHO: 'you', N: 3, MODE: 'fast', DEEP: { A: 1 } } },
    })
    const bad = use([manifest(SCHEMA + MAIN)], { args: '{N: 1.5, ON: maybe, TAGS: [ok, Not], MODE: odd, MORE: 1}' })
    expect(told(bad)).toEqual([
      'p.yml:3:3 error "WHO" is required',
      'p.yml:5:20 error "N" must be integer. Current value: 1.5',
      'p.yml:5:29 error "ON" must be boolean. Current value: maybe',
      'p.yml:5:47 error "1" fails to match the pattern ^[a-z]+$. Current value: Not',
      'p.yml:5:59 error "MODE" must be one of ["fast","slow"]. Current value: odd',
      'p.yml:5:70 error "MORE" is not allowed',
    ])
  })

  test('a text that holds a variable passes; one that is known is judged by its value', () => {
    const args = "{WHO: '${{A}}', ON: '${{B}}', N: '${{C}}', MODE: '${{D}}'}"
    expect(told(use([manifest(SCHEMA + MAIN)], { args }))).toEqual([])
    expect(told(use([manifest(SCHEMA + MAIN)], { args, variables: { B: 'true', C: '5', D: 'slow' } }))).toEqual([])
    const wrong = use([manifest(SCHEMA + MAIN)], { args, variables: { B: 'perhaps', C: 'x', D: 'odd' } })
    expect(told(wrong)).toHaveLength(3)
  })

  test('without additionalProperties: false further arguments are let through', () => {
    const open = manifest(`  arguments: {type: object, definitions: {}, patterns: []}\n${MAIN}`)
    expect(use([open], { args: '{ANY: [1], THING: {a: b}}' }).plan?.steps[0]?.action).toMatchObject({
      typed: { arguments: { ANY: [1] } },
    })
    expect(told(use([open], { args: '[1]' }))).toEqual(['p.yml:5:16 error "arguments" must be an object'])
  })
})

test('arguments that cost too much are refused in little time', () => {
  const text = manifest(`  arguments: {type: object, properties: {L: {type: array, uniqueItems: true}}}\n${MAIN}`)
  const start = performance.now()
  const many = use([text], { args: `{L: [${Array.from({ length: 100_000 }, (_, index) => index).join(', ')}]}` })
  expect(told(many)).toEqual([expect.stringContaining('"arguments" are too large to be checked')])
  const long = use([text], {
    args: `{L: [${Array.from({ length: 5000 }, (_, at) => `'${at}\${{BIG}}'`).join(', ')}]}`,
    variables: { BIG: 'x'.repeat(1_000_000) },
  })
  expect(long.plan).toBeDefined()
  expect(performance.now() - start).toBeLessThan(5000)
})

describe('typed steps in a pipeline', () => {
  test('parts have fields in camel case, the volume as directory, and the typed step its common fields', () => {
    const text = manifest(`  steps:
    clone: {type: git-clone, repo: a/b}
    build: {type: build, imageName: x, workingDirectory: '\${{clone}}', disablePush: true, failFast: false}
    last: {image: alpine, commands: [ls]}
`)
    const { plan, problems } = use([text], {
      more: '    title: All\n    retry: {maxAttempts: 2}\n    timeout: 5m\n    working_directory: /codefresh/volume/app\n',
    })
    expect(told({ problems })).toEqual([])
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

  test('an unknown type, an unknown version and endless nesting are one error each', () => {
    const text = manifest(MAIN)
    expect(told(use([text], { type: 'acme/itt:1.0.0' }))).toEqual([
      'p.yml:4:11 error there is no step type "acme/itt". Did you mean "acme/it"?',
    ])
    expect(told(use([text], { type: 'acme/it:2.0.0' }))).toEqual([
      'p.yml:4:11 error there is no version 2.0.0 of the step type "acme/it"',
    ])
    const endless = manifest(`  steps: {again: {type: 'acme/it:1.0.0'}}\n`)
    expect(told(use([endless]))).toEqual([expect.stringContaining('typed steps are nested more than 8 deep')])
  })

  test('without a catalog the step is not checked, and there is no plan', () => {
    const { plan, problems } = compile({ text: `version: '1.0'\nsteps: {a: {type: 'acme/it:1.0.0'}}\n`, file: 'p.yml' })
    expect(plan).toBeUndefined()
    expect(problems.map(({ severity, code }) => `${severity} ${code}`)).toEqual(['warning step-type'])
  })

  test('a matrix of typed steps has parts in each child', () => {
    const { plan } = use([manifest(MAIN)], { more: '    matrix: {environment: [A=1, A=2]}\n' })
    expect(names(plan).filter((name) => name.endsWith('.main'))).toHaveLength(2)
  })

  test('P167: a template gets values, not texts; its problems and those of what it renders are told', () => {
    const template = (body: string): string =>
      manifest(`  delimiters: {left: '[[', right: ']]'}\n  stepsTemplate: |-\n${body.replace(/^/gm, '    ')}\n`)
    const range = template(
      "[[ range $i, $w := .Arguments.WHO ]]\npart_[[ $i ]]: {image: alpine, commands: ['echo [[ $w ]]']}\n[[ end ]]",
    )
    expect(names(use([range], { args: "{WHO: [a, '${{B}}']}" }).plan)).toEqual(['one', 'one.part_0', 'one.part_1'])
    expect(told(use([template('main: [[ .Arguments.WHO.x ]]')]))).toEqual([
      "p.yml:4:11 error the template of acme/it:1.0.0 cannot be rendered: line 1, column 10: can't evaluate field x in type string",
    ])
    expect(told(use([template('main: {image: [[ .Arguments.WHO ]]')]))[0]).toMatch(
      /the rendered template of acme\/it:1\.0\.0 cannot be used: line 1/,
    )
    expect(told(use([template('main: {image: 5}')]))).toEqual([
      'acme/it:1.0.0 (rendered):1:15 error "image" must be a string. Current value: 5',
    ])
    const guess = use([template('main: {image: [[ if eq .Arguments.WHO "x" ]]a[[ else ]]b[[ end ]]}')], {
      args: "{WHO: '${{LATER}}'}",
    })
    expect(told(guess)).toEqual(['p.yml:5:16 warning acme/it:1.0.0 decides by a value that is not known when the build is made'])
    expect(guess.plan).toBeDefined()
  })

  test('any arguments at all compile or give problems', () => {
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
