import type { Plan, PlanStep } from '@windlass/plan'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compile } from './compile/compile.ts'

interface Tree {
  readonly [key: string]: unknown
}

/** A step before its name and the steps of its conditions are chosen. */
interface Seed {
  readonly fields: Tree
  readonly settings: Tree
  readonly asks: readonly number[]
  readonly inside: readonly Seed[]
  readonly hooks: readonly { readonly moment: string; readonly kind: 'list' | 'both' | 'step' | 'steps'; readonly of: Seed }[]
}

const flag = fc.constantFrom(true, false, '${{FF}}', 'yes')
const settings: fc.Arbitrary<Tree> = fc.record(
  { retry: fc.constant({ maxAttempts: 2 }), timeout: fc.constantFrom('5s', null, '0h', 'soon'), fail_fast: flag },
  { requiredKeys: [] },
)
const fields: fc.Arbitrary<Tree> = fc.constantFrom<Tree[]>(
  { image: 'x', commands: ['a'] },
  { type: 'build', image_name: 'x', metadata: { set: [{ A: 1 }] } },
  { type: 'git-clone', repo: 'a/b' },
  { type: 'pending-approval' },
  { image: 'x', environment: ['A=1'], scale: {} },
  { matrix: { image: ['x', 'y'], environment: [['A=1'], ['A=2']] } },
  { image: 'x', when: { condition: { all: { one: 'workflow.result == "failure"' } } } },
  { image: 'x', wrong: 1, shell: 'bash' },
)

const depth = { maxDepth: 3, depthIdentifier: 'steps' } as const

const { seed } = fc.letrec<{ seed: Seed; hook: Seed['hooks'][number] }>((tie) => ({
  hook: fc.record({
    moment: fc.constantFrom('on_elected', 'on_success', 'on_fail', 'on_finish'),
    kind: fc.constantFrom('list', 'both', 'step', 'steps'),
    of: tie('seed'),
  }),
  seed: fc.record({
    fields,
    settings,
    asks: fc.array(fc.nat(20), { maxLength: 2 }),
    inside: fc.oneof(
      depth,
      { weight: 3, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(tie('seed'), { minLength: 1, maxLength: 3 }) },
    ),
    hooks: fc.oneof(
      depth,
      { weight: 3, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(tie('hook'), { minLength: 1, maxLength: 2 }) },
    ),
  }),
}))

/** Gives every step a unique name, and its conditions the names of other steps. */
class Writer {
  private readonly names: string[] = []
  private count = 0

  steps(seeds: readonly Seed[], place: 'root' | 'group' | 'hook'): Tree {
    return Object.fromEntries(
      seeds.map((one) => {
        const name = `s${this.count}`
        this.count += 1
        const written = this.step(one, place)
        if (place !== 'hook') this.names.push(name)
        return [name, written]
      }),
    )
  }

  private step({ fields: own, settings: common, asks, inside, hooks }: Seed, place: 'root' | 'group' | 'hook'): Tree {
    const kept = own['type'] === 'pending-approval' && place !== 'root' ? { image: 'x' } : own
    const base = inside.length > 0 ? { type: 'parallel', steps: this.steps(inside, place === 'hook' ? 'hook' : 'group') } : kept
    const scale = 'scale' in base ? { scale: { [`${this.fresh()}`]: {}, [`${this.fresh()}`]: { environment: ['B=1'] } } } : {}
    const known = asks.map((index) => this.names[index % this.names.length] ?? '')
    const when =
      known.length > 0 && !known.includes('') && place !== 'hook'
        ? { when: { steps: known.map((name) => ({ name, on: ['pending', 'finished'] })) } }
        : {}
    const moments = place === 'hook' ? [] : hooks.map(({ moment, kind, of }) => [moment, this.hook(kind, of)])
    const limited = base['type'] === 'pending-approval' ? { ...common, timeout: {} } : common
    return { ...base, ...scale, ...limited, ...when, ...(moments.length > 0 && { hooks: Object.fromEntries(moments) }) }
  }

  hook(kind: 'list' | 'both' | 'step' | 'steps', of: Seed): unknown {
    if (kind === 'list') return ['echo']
    if (kind === 'both') return { exec: ['echo'], annotations: { set: [{ annotations: [{ A: 1 }] }] } }
    return kind === 'step' ? { exec: this.step(of, 'hook') } : { steps: this.steps([of, of], 'hook'), mode: 'parallel' }
  }

  private fresh(): string {
    this.count += 1
    return `s${this.count - 1}`
  }
}

const pipeline = fc
  .record({
    seeds: fc.array(seed, { maxLength: 4 }),
    hook: seed,
    mode: fc.constantFrom('parallel', 'sequential'),
    fail_fast: flag,
  })
  .map(({ seeds, hook, mode, fail_fast }): Tree => {
    const writer = new Writer()
    return {
      version: '1.0',
      mode,
      fail_fast,
      steps: writer.steps(seeds, 'root'),
      hooks: { on_finish: writer.hook('steps', hook) },
    }
  })

function checkPlan(plan: Plan): void {
  const seen = new Map<string, PlanStep>()
  const all = new Set(plan.steps.map((one) => one.name))
  expect(all.size).toBe(plan.steps.length)
  for (const one of plan.steps) {
    if (one.parent !== undefined) expect(seen.get(one.parent)?.action.kind).toBe('group')
    for (const before of one.after) {
      expect(seen.has(before)).toBe(true)
      expect(seen.get(before)?.parent).toBe(one.parent)
    }
    if (one.hook !== undefined) {
      expect([one.parent, one.after]).toEqual([undefined, []])
      expect(one.name).toMatch(/\.(?:on_[a-z]+|annotations)$/)
      if (one.hook.of !== undefined) expect(seen.has(one.hook.of)).toBe(true)
    }
    for (const asked of one.when?.steps?.of ?? []) expect(all.has(asked.name)).toBe(true)
    if (one.action.kind === 'group') expect(plan.steps.some(({ parent }) => parent === one.name)).toBe(true)
    seen.set(one.name, one)
  }
  expect(JSON.parse(JSON.stringify(plan))).toEqual(plan)
}

test('every pipeline gives a consistent plan, or errors inside the document', () => {
  let plans = 0
  fc.assert(
    fc.property(pipeline, fc.constantFrom(0, 2), (document, indent) => {
      const text = JSON.stringify(document, null, indent)
      const { plan, problems } = compile({ text, file: 'x' })
      expect(plan === undefined).toBe(problems.some(({ severity }) => severity === 'error'))
      if (plan !== undefined) {
        plans += 1
        checkPlan(plan)
      }
      const lines = text.split('\n')
      for (const { line, column } of problems) expect(column).toBeLessThanOrEqual((lines[line - 1] ?? '').length + 1)
    }),
    { numRuns: 300 },
  )
  expect(plans).toBeGreaterThan(150)
})
