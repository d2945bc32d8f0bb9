/** Layout of the plan graph: left to right in the order in which steps can run, with groups around their steps. */
import type { Preview, PreviewStep } from '../preview/preview.ts'

export interface Box {
  readonly step: PreviewStep
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
  readonly isGroup: boolean
}

export interface Layout {
  readonly width: number
  readonly height: number
  /** Groups come before the boxes within them. */
  readonly boxes: readonly Box[]
}

const CHAR = 7.9
const LEAF_HEIGHT = 52
const GAP_X = 44
const GAP_Y = 16
const PAD = 14
const HEADER = 26
const NARROWEST = 120
const WIDEST = 300

/** Computes the layout in time linear in steps and edges. */
export function layOut({ steps }: Pick<Preview, 'steps'>): Layout {
  const body = steps.filter(({ hook }) => hook === undefined)
  const inside = Map.groupBy(
    steps.filter(({ parent, hook }) => parent !== undefined && hook === undefined),
    ({ parent }) => parent ?? '',
  )
  const hooks = Map.groupBy(
    steps.filter(({ hook }) => hook !== undefined),
    ({ hook }) => hook?.of ?? '',
  )
  const measure = (step: PreviewStep): Block => toBlock(step, inside.get(step.name) ?? [], { measure, hooks })
  const roots = body.filter(({ parent }) => parent === undefined).map(measure)
  const flow = arrange(roots)
  const boxes: Box[] = []
  for (const { block, x, y } of flow.places) place(block, { x: x + PAD, y: y + PAD }, boxes)
  return { width: flow.width + 2 * PAD, height: flow.height + 2 * PAD, boxes }
}

interface Place {
  readonly block: Block
  readonly x: number
  readonly y: number
}

interface Block {
  readonly step: PreviewStep
  readonly width: number
  readonly height: number
  readonly inside: readonly Place[]
}

interface Measures {
  readonly measure: (step: PreviewStep) => Block
  readonly hooks: ReadonlyMap<string, readonly PreviewStep[]>
}

function toBlock(step: PreviewStep, children: readonly PreviewStep[], { measure, hooks }: Measures): Block {
  const own = hooks.get(step.name) ?? []
  const hookLine = own.map(({ hook }) => hook?.moment ?? '').join(' ')
  const extra = own.length === 0 ? 0 : 16
  const text = Math.max(step.title.length, step.subject.length * 0.85, hookLine.length * 0.85) * CHAR + 2 * PAD
  const width = Math.min(Math.max(text, NARROWEST), WIDEST)
  if (children.length === 0) return { step, width, height: LEAF_HEIGHT + extra, inside: [] }
  const flow = arrange(children.map(measure))
  const places = flow.places.map(({ block, x, y }) => ({ block, x: x + PAD, y: y + HEADER }))
  return { step, width: Math.max(width, flow.width + 2 * PAD), height: flow.height + HEADER + PAD + extra, inside: places }
}

interface Flow {
  readonly places: readonly Place[]
  readonly width: number
  readonly height: number
}

/** Arranges blocks in columns by rank, and within a column one below the other. */
function arrange(blocks: readonly Block[]): Flow {
  const rank = ranksOf(blocks.map(({ step }) => step))
  const columns = Map.groupBy(blocks, ({ step }) => rank.get(step.name) ?? 0)
  const ordered = [...columns].toSorted(([a], [b]) => a - b).map(([, column]) => column)
  const heights = ordered.map((column) => column.reduce((sum, { height }) => sum + height + GAP_Y, -GAP_Y))
  const height = heights.reduce((most, one) => Math.max(most, one), 0)
  const places: Place[] = []
  let x = 0
  for (const [index, column] of ordered.entries()) {
    let y = (height - (heights[index] ?? 0)) / 2
    for (const block of column) {
      places.push({ block, x, y })
      y += block.height + GAP_Y
    }
    x += column.reduce((most, { width }) => Math.max(most, width), 0) + GAP_X
  }
  return { places, width: Math.max(0, x - GAP_X), height }
}

/** Returns the length of the longest path to each step. A step in a cycle gets a rank only from steps before the cycle. */
function ranksOf(steps: readonly PreviewStep[]): ReadonlyMap<string, number> {
  const known = new Map(steps.map((step) => [step.name, step]))
  const ranks = new Map<string, number>()
  const waiting = new Map(steps.map(({ name, after }) => [name, after.filter((one) => known.has(one)).length]))
  const followers = Map.groupBy(
    steps.flatMap(({ name, after }) => after.filter((one) => known.has(one)).map((one) => ({ one, name }))),
    ({ one }) => one,
  )
  const ready = steps.filter(({ name }) => waiting.get(name) === 0).map(({ name }) => name)
  for (const name of ready) {
    const rank = ranks.get(name) ?? 0
    ranks.set(name, rank)
    for (const { name: next } of followers.get(name) ?? []) {
      ranks.set(next, Math.max(ranks.get(next) ?? 0, rank + 1))
      const left = (waiting.get(next) ?? 1) - 1
      waiting.set(next, left)
      if (left === 0) ready.push(next)
    }
  }
  return ranks
}

function place(block: Block, { x, y }: { x: number; y: number }, boxes: Box[]): void {
  boxes.push({ step: block.step, x, y, width: block.width, height: block.height, isGroup: block.inside.length > 0 })
  for (const inner of block.inside) place(inner.block, { x: x + inner.x, y: y + inner.y }, boxes)
}
