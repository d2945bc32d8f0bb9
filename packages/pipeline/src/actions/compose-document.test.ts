import { describe, expect, test } from 'vitest'
import { formatProblems, problemsOf } from '../../test/documents.ts'
import { compile } from '../compile/compile.ts'

function step(...lines: string[]): string {
  return ["version: '1.0'", 'steps:', '  it:', '    type: composition', ...lines.map((line) => `    ${line}`), ''].join('\n')
}

const TEST = 'composition_candidates: { test: { image: t } }'

describe('the services of a composition (P174)', () => {
  test('an unknown field is a warning at its place, with the nearest one', () => {
    const text = step(
      'composition: { services: { db: { imge: d } } }',
      'composition_candidates: { test: { image: t, comand: x } }',
    )
    expect(problemsOf(text)).toEqual([
      '5:38 warning unknown-key unknown field "imge" in service "db". Did you mean "image"?',
      '6:49 warning unknown-key unknown field "comand" in service "test". Did you mean "command"?',
    ])
    const { problems, plan } = compile({ text, file: 'p.yml' })
    expect(problems.map(({ path, suggestion }) => ({ path, suggestion }))).toEqual([
      { path: 'steps.it.composition.services.db.imge', suggestion: { from: 'imge', to: 'image' } },
      { path: 'steps.it.composition_candidates.test.comand', suggestion: { from: 'comand', to: 'command' } },
    ])
    expect(problems[0]?.hint).toBe('Correct or remove it. Docker Compose rejects unknown fields.')
    expect(plan).toBeDefined()
  })

  test('working_directory is working_dir in a service', () => {
    expect(problemsOf(step('composition: { services: { db: { image: d, working_directory: /x } } }', TEST))).toEqual([
      '5:48 warning unknown-key unknown field "working_directory" in service "db". Did you mean "working_dir"?',
    ])
  })

  test('every field of the compose specification, extensions and merged maps pass', () => {
    expect(
      problemsOf(
        step(
          'composition: { x-base: &base { image: d }, name: n, volumes: {}, services: { db: { <<: *base, x-own: 1, env_file: a, label_file: b, mem_limit: 1g, provider: {}, volumes_from: [] } } }',
          TEST,
        ),
      ),
    ).toEqual([])
  })

  test('an unknown field of the document is a warning, and services have to be below "services"', () => {
    expect(problemsOf(step('composition: { service: { db: { image: d } } }', TEST))).toEqual([
      '5:20 warning unknown-key unknown field "service" in a compose document. Did you mean "services"?',
    ])
    expect(compile({ text: step('composition: { db: { image: d } }', TEST), file: 'p.yml' }).problems).toMatchObject([
      { message: 'unknown field "db" in a compose document', hint: 'Write services below "services".' },
    ])
  })

  test('the services of launch-composition, of a step and of the build are checked, too', () => {
    const wrong = "{ db: { image: d, prots: ['1'] } }"
    expect(
      problemsOf(
        [
          "version: '1.0'",
          `services: { composition: ${wrong} }`,
          'steps:',
          `  a: { image: x, services: { composition: { services: ${wrong} } } }`,
          `  b: { type: launch-composition, composition: { services: ${wrong} } }`,
          '',
        ].join('\n'),
      ).map((problem) => problem.replace(/ warning.*"prots"/, ' "prots"')),
    ).toEqual(['2:44', '4:73', '5:77'].map((place) => `${place} "prots" in service "db". Did you mean "ports"?`))
  })

  test('a file or a stored composition is not read', () => {
    expect(problemsOf(step('composition: ./compose.yml', 'composition_candidates: { test: { image: t, links: [db] } }'))).toEqual(
      [],
    )
  })
})

describe('a reference of a service to another one (P174)', () => {
  const links = (service: string): string[] =>
    problemsOf(
      step(
        `composition: { services: { db: { image: d }, web: ${service} } }`,
        'composition_candidates: { test: { image: t, links: [web, db:alias] } }',
      ),
    )

  test.each([
    ['depends_on: [dbb]', 'depends_on'],
    ['depends_on: { dbb: { condition: service_healthy } }', 'depends_on'],
    ["links: ['dbb:alias']", 'links'],
    ['volumes_from: [dbb]', 'volumes_from'],
    ["network_mode: 'service:dbb'", 'network_mode'],
  ])('%s is a warning if the service does not exist', (field, key) => {
    const [problem, ...more] = links(`{ image: w, ${field} }`)
    expect(more).toEqual([])
    expect(problem).toContain(
      `warning compose-service "${key}" of service "web" names "dbb", which is not a service of the composition. Did you mean "db"?`,
    )
  })

  test('to a service, to a candidate, with a variable, or to one that may be missing passes', () => {
    for (const field of [
      'depends_on: [db, test]',
      'depends_on: { none: { condition: service_started, required: false } }',
      "links: ['${{NAME}}', '${NAME}', 'db:data']",
      "volumes_from: ['container:other', 'db:ro']",
      'network_mode: bridge',
    ])
      expect(links(`{ image: w, ${field} }`)).toEqual([])
  })

  test('is not checked in a document that includes another one', () => {
    const text = step('composition: { include: [other.yml], services: { web: { image: w, depends_on: [db] } } }', TEST)
    expect(formatProblems(compile({ text, file: 'p.yml' }).problems)).toEqual([])
  })
})
