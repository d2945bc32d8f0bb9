/** The dashboard, the alert rules and the documentation use metrics that `/metrics` of a real server has, and there are not too many. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { REASONS } from '@windlass/plan'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'

const root = join(import.meta.dirname, '../../../../..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const RULES = 'deploy/prometheus/windlass.rules.yaml'
const DASHBOARD = 'deploy/grafana/windlass.json'
const PAGE = 'docs/operate/monitoring.md'
const PIPELINES = 100

let scene: HttpScene
let page = ''
beforeAll(async () => {
  scene = await openHttpScene()
  const document = "version: '1.0'\nsteps:\n  hello:\n    image: alpine\n    commands: [echo hello]\n"
  for (let n = 0; n < PIPELINES; n += 1) await scene.admin.pipelines.create({ name: `team/app-${n}`, document })
  const { engine } = await scene.start()
  await engine.succeed()
  await scene.submit({ document: undefined, pipeline: 'team/app-7' })
  await scene.nobody.text('GET', '/v1/builds').catch(() => '')
  await scene.admin.text('GET', `/v1/builds/${'0'.repeat(24)}`).catch(() => '')
  page = await scene.admin.text('GET', '/metrics')
})
afterAll(() => scene?.[Symbol.asyncDispose]())

const metrics = (): Map<string, string> =>
  new Map([...page.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]))
const isOwn = (name: string): boolean => !/^windlass_(process|nodejs)_/.test(name)

/** Returns the names of metrics in an expression, as they are declared. */
function named(expression: string): string[] {
  const known = metrics()
  return [...expression.matchAll(/\bwindlass_[a-z0-9_]+/g)].map(([name]) => {
    const base = name.replace(/_(bucket|sum|count)$/, '')
    return known.get(base) === 'histogram' ? base : name
  })
}

test('there are at most 60 names and 2,000 series with 100 pipelines, and no label names one', () => {
  expect(metrics().size).toBeLessThanOrEqual(60)
  const series = page.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  expect(series.length).toBeLessThanOrEqual(2000)
  expect(page).not.toContain('app-7')
})

test('a build leaves its wait, its start, its steps and its result; refused requests are counted', () => {
  expect(page).toMatch(/^windlass_wait_seconds_count\{reason="queued"\} [1-9]/m)
  expect(page).toMatch(/^windlass_wait_seconds_count\{reason="start"\} 1$/m)
  expect(page).toMatch(/^windlass_attempt_start_seconds_count\{phase="pods"\} 1$/m)
  expect(page).toMatch(/^windlass_attempt_start_seconds_count\{phase="daemon"\} 1$/m)
  expect(page).toMatch(/^windlass_steps_total\{result="success"\} 1$/m)
  expect(page).toMatch(/^windlass_builds_total\{result="success"\} 1$/m)
  expect(page).toMatch(/^windlass_agent_online\{agent="agent"\} 1$/m)
  expect(page).toMatch(/^windlass_http_request_duration_seconds_count\{method="GET",route="\*",status="401"\} 1$/m)
  expect(page).toMatch(
    /^windlass_http_request_duration_seconds_count\{method="GET",route="\/v1\/builds\/\{id\}",status="404"\} 1$/m,
  )
})

test('every metric of the dashboard exists', () => {
  const Panels = z.object({
    panels: z.array(z.looseObject({ title: z.string(), targets: z.array(z.object({ expr: z.string() })).default([]) })),
  })
  const { panels } = Panels.parse(JSON.parse(read(DASHBOARD)))
  const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
  expect(expressions.length).toBeGreaterThan(20)
  const missing = expressions.flatMap(named).filter((name) => !metrics().has(name))
  expect(missing).toEqual([])
  for (const expr of expressions) expect(isBalanced(expr), expr).toBe(true)
})

test('every metric and every reason of the alerts exists, and the documentation lists each alert', () => {
  const Rules = z.object({
    groups: z.array(
      z.object({
        rules: z.array(
          z.strictObject({
            alert: z.string(),
            expr: z.string(),
            for: z.string().regex(/^\d+m$/),
            labels: z.strictObject({ severity: z.enum(['critical', 'warning']) }),
            annotations: z.strictObject({ summary: z.string(), description: z.string() }),
          }),
        ),
      }),
    ),
  })
  const rules = Rules.parse(parse(read(RULES))).groups.flatMap((group) => group.rules)
  expect(rules.flatMap(({ expr }) => named(expr)).filter((name) => !metrics().has(name))).toEqual([])
  for (const { expr } of rules) expect(isBalanced(expr), expr).toBe(true)
  const reasons = rules.flatMap(({ expr }) =>
    [...expr.matchAll(/reason=~?"([^"]+)"/g)].flatMap(([, list = '']) => list.split('|')),
  )
  expect(reasons.filter((reason) => !Object.hasOwn(REASONS, reason))).toEqual([])
  const listed = [...read(PAGE).matchAll(/^\| `(Windlass\w+)` \|/gm)].map(([, name = '']) => name)
  expect(listed.toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted())
})

test('the documentation lists the metrics of the server', () => {
  const table = read(PAGE).split('<!-- metrics -->')[1]?.split('\n\n')[0] ?? ''
  const listed = [...table.matchAll(/^\| ((?:`windlass_\w+`(?:, )?)+) \|/gm)].flatMap(
    ([, names = '']) => names.match(/windlass_\w+/g) ?? [],
  )
  expect(listed.toSorted()).toEqual([...metrics().keys()].filter(isOwn).toSorted())
})

/** True if brackets and quotes of an expression are closed. */
function isBalanced(expression: string): boolean {
  const open: string[] = []
  const closing: Readonly<Record<string, string>> = { ')': '(', '}': '{', ']': '[' }
  for (const letter of expression.replaceAll(/"[^"]*"/g, '')) {
    if ('({['.includes(letter)) open.push(letter)
    else if (closing[letter] !== undefined && open.pop() !== closing[letter]) return false
    else if (letter === '"') return false
  }
  return open.length === 0
}
