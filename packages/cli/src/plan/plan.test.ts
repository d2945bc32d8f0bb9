import { expect, test } from 'vitest'
import { compile } from '@windlass/pipeline'
import { layOut, previewPlan, type Preview } from '@windlass/plan'
import { growth, LINEAR } from '../../../plan/test/cpu-time.ts'
import { recordOutput } from '../../test/recorded-output.ts'
import { printTree } from './print-tree.ts'
import { toDot } from './to-dot.ts'
import { toSvg } from './to-svg.ts'

const DOCUMENT = `
version: '1.0'
hooks: {on_finish: [echo bye]}
steps:
  clone: {type: git-clone, repo: acme/app}
  tests:
    type: parallel
    steps:
      unit: {image: node, commands: [npm test], retry: {maxAttempts: 3}}
      slow: {image: node, commands: [npm run slow], when: {branch: {only: [main]}}}
  tell: {image: 'alpine:"<&3"', commands: [echo], when: {condition: {all: {failed: "workflow.result == 'failure'"}}}}
`

function preview(text: string, branch = 'next'): Preview {
  const { plan, problems } = compile(
    { text, file: 'pipeline.yml' },
    {
      variables: [
        { level: 'system', variables: { CF_BRANCH: { value: branch } } },
        { level: 'build', variables: { KEY: { secret: 'KEY' } } },
      ],
    },
  )
  if (plan === undefined) throw new Error(problems.map(({ message }) => message).join('; '))
  return previewPlan(plan)
}

function tree(of: Preview, hasColor = false): string[] {
  const out = recordOutput({ hasColor })
  printTree(of, { title: 'pipeline.yml', branch: 'next', out })
  return out.lines
}

test('the tree shows which steps run, and why or why not', () => {
  expect(tree(preview(DOCUMENT)).slice(0, 8)).toEqual([
    'pipeline.yml @ next  steps in sequence · 4 run · 1 depend · 1 skipped',
    '',
    '✔ clone      git-clone  acme/app',
    '✔ tests      parallel',
    '✔ ├─ unit    freestyle  node          3 tries',
    '– └─ slow    freestyle  node          branch next does not match',
    `? tell       freestyle  alpine:"<&3"  if workflow.result == 'failure'`,
    '✔ on_finish  hook       alpine        at its end',
  ])
})

test('hides values of secrets in every format', () => {
  const of = preview(DOCUMENT)
  expect(tree(of).at(-1)).toMatch(/^ {2}KEY +••••• +build$/)
  expect(JSON.stringify(of)).toContain('{"name":"KEY","level":"build","isSecret":true}')
})

test('names each variable without a value, and where it would come from', () => {
  const of = preview(
    "version: '1.0'\nsteps:\n  clone: {type: git-clone, repo: '${{CF_REPO_OWNER}}/app'}\n  use: {image: 'node:${{TAG}}'}\n",
  )
  expect(tree(of).slice(-3)).toEqual([
    'Variables without a value',
    '  CF_REPO_OWNER  comes from a Git trigger, or -v CF_REPO_OWNER=value  used by clone',
    '  TAG            comes from a variable of the pipeline or cf_export of an earlier step, or -v TAG=value  used by use',
  ])
})

test('output with colors equals output without, except for the color codes', () => {
  const escapes = new RegExp(`${String.fromCharCode(27)}\\[\\d+m`, 'g')
  const bare = tree(preview(DOCUMENT), true).map((line) => line.replace(escapes, '').trimEnd())
  expect(bare).toEqual(tree(preview(DOCUMENT)))
})

test('the SVG contains every step once, with groups around their steps, and escapes markup', () => {
  const of = preview(DOCUMENT)
  const svg = toSvg(of)
  expect(svg.match(/<rect /g)).toHaveLength(5)
  expect(svg).toContain('alpine:&#34;&#60;&#38;3&#34;')
  const boxes = new Map(layOut(of).boxes.map((box) => [box.step.name, box]))
  const [tests, unit, clone] = ['tests', 'unit', 'clone'].map((name) => boxes.get(name))
  if (tests === undefined || unit === undefined || clone === undefined) throw new Error('a box is missing')
  expect(unit.x > tests.x && unit.x + unit.width < tests.x + tests.width && unit.y > tests.y).toBe(true)
  expect(clone.x + clone.width).toBeLessThan(tests.x)
})

test('the Graphviz output contains edges and clusters', () => {
  const dot = toDot(preview(DOCUMENT))
  expect(dot).toContain('"clone" -> "tests";')
  expect(dot).toContain('subgraph "cluster_tests" {')
})

test('rendering time is linear in the number of steps', () => {
  const plans = new Map<number, Preview>()
  for (const count of [125, 1_000]) {
    const steps = Array.from({ length: count }, (_, index) => {
      const when = index === 0 ? '' : `, when: {steps: [{name: s${index >> 1}}]}`
      return `  s${index}: {image: alpine, commands: [echo]${when}}`
    })
    plans.set(count, preview(`version: '1.0'\nmode: parallel\nsteps:\n${steps.join('\n')}\n`))
  }
  const draw = (count: number): void => {
    const of = plans.get(count) ?? preview('')
    toSvg(of)
    tree(of)
  }
  expect(growth(125, draw)).toBeLessThan(LINEAR)
})
