/** The steps of a build as a graph, drawn like `windlass plan -o svg`. The list of steps is its text alternative. */
import { useQuery } from '@tanstack/react-query'
import { edgesOf, layOut, type Box, type Preview } from '@windlass/plan'
import type { Build } from '@windlass/protocol'
import { useMemo, useState, type KeyboardEvent, type ReactElement } from 'react'
import { useLocation } from 'wouter'
import { lookOfStep } from '../../looks/states.ts'
import { Button } from '../../parts/button.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Loading } from '../../parts/loading.tsx'
import { Problem } from '../../parts/problem.tsx'
import { queries } from '../../server/queries.ts'
import { paths } from '../../url/paths.ts'
import styles from './graph.module.css'

/** Above this number of boxes groups start folded. */
const MANY = 150
const ZOOMS = [0.7, 0.85, 1, 1.25, 1.5] as const

export function GraphTab({ build }: { readonly build: Build }): ReactElement {
  const { data, error, isPending, refetch } = useQuery(queries.buildPlan(build.id))
  if (isPending) return <Loading what="the plan" />
  if (data === undefined) return <Problem error={error} onRetry={() => void refetch()} />
  if (data.plan === undefined || data.plan.steps.length === 0)
    return <Empty>The build has no plan{data.problems === undefined ? ' yet' : ', because its document has errors'}.</Empty>
  return <Graph build={build} plan={data.plan as Preview} />
}

/** Returns the steps outside of groups, with edges between them. */
function foldGroups(plan: Preview): Preview {
  return { ...plan, steps: plan.steps.filter(({ parent, hook }) => parent === undefined && hook === undefined) }
}

function Graph({ build, plan }: { readonly build: Build; readonly plan: Preview }): ReactElement {
  const [, go] = useLocation()
  const [zoom, setZoom] = useState<number>(1)
  const [isFolded, setIsFolded] = useState(plan.steps.length > MANY)
  const shown = useMemo(() => (isFolded ? foldGroups(plan) : plan), [plan, isFolded])
  const { width, height, boxes } = useMemo(() => layOut(shown), [shown])
  const edges = useMemo(() => edgesOf(shown).filter(({ isHook }) => !isHook), [shown])
  const places = new Map(boxes.map((box) => [box.step.name, box]))
  const states = new Map((build.steps ?? []).map((step) => [step.name, step]))
  const next = (by: number): number =>
    ZOOMS[Math.min(Math.max(ZOOMS.findIndex((one) => one === zoom) + by, 0), ZOOMS.length - 1)] ?? 1
  const walk = (event: KeyboardEvent, name: string): void => {
    const to =
      event.key === 'ArrowRight'
        ? edges.find(({ from }) => from === name)?.to
        : event.key === 'ArrowLeft'
          ? edges.find((edge) => edge.to === name)?.from
          : undefined
    if (to === undefined) return
    event.preventDefault()
    document.querySelector<SVGElement>(`[data-step="${CSS.escape(to)}"]`)?.focus()
  }
  return (
    <div className={styles['graph']}>
      <div className={styles['buttons']}>
        <Button small onClick={() => setZoom(next(-1))}>
          Smaller
        </Button>
        <Button small onClick={() => setZoom(next(1))}>
          Larger
        </Button>
        <Button small tone="quiet" onClick={() => setIsFolded(!isFolded)}>
          {isFolded ? 'Open groups' : 'Fold groups'}
        </Button>
      </div>
      <div className={styles['canvas']} tabIndex={0} role="region" aria-label="Graph of the steps">
        <svg width={width * zoom} height={height * zoom} viewBox={`0 0 ${width} ${height}`}>
          {boxes
            .filter(({ isGroup }) => isGroup)
            .map((box) => (
              <rect
                key={box.step.name}
                className={styles['groupBox']}
                x={box.x}
                y={box.y}
                width={box.width}
                height={box.height}
                rx="8"
              />
            ))}
          {edges.map(({ from, to }) => (
            <Arrow key={`${from} ${to}`} from={places.get(from)} to={places.get(to)} />
          ))}
          {boxes.map((box) => {
            const look = lookOfStep(states.get(box.step.name) ?? { status: 'pending' })
            return (
              <g
                key={box.step.name}
                className={styles['node']}
                data-tone={look.tone}
                data-group={box.isGroup}
                data-step={box.step.name}
                tabIndex={0}
                role="link"
                onClick={() => go(paths.step(build.id, box.step.name))}
                onKeyDown={(event) =>
                  event.key === 'Enter' ? go(paths.step(build.id, box.step.name)) : walk(event, box.step.name)
                }
              >
                <NodeText box={box} word={look.word} />
              </g>
            )
          })}
        </svg>
      </div>
    </div>
  )
}

/** Width of a character of the two sizes of text, estimated for wide letters. Pixels. */
const TITLE_CHAR = 7.9
const TEXT_CHAR = 6.6

function fit(text: string, width: number, character: number): string {
  const most = Math.floor((width - 24) / character)
  return text.length <= most ? text : `${text.slice(0, Math.max(most - 1, 1))}…`
}

function NodeText({ box, word }: { readonly box: Box; readonly word: string }): ReactElement {
  const { step, x, y, width, height, isGroup } = box
  return (
    <>
      <title>{[`${step.title}: ${word}`, step.because ?? ''].filter((part) => part !== '').join(', ')}</title>
      {isGroup ? (
        <text x={x + 12} y={y + 18}>
          {fit(step.title, width, TITLE_CHAR)}
        </text>
      ) : (
        <>
          <rect x={x} y={y} width={width} height={height} rx="6" />
          <rect className={styles['edge']} x={x} y={y} width="4" height={height} rx="2" />
          <text x={x + 14} y={y + 21}>
            {fit(step.title, width, TITLE_CHAR)}
          </text>
          <text className={styles['small']} x={x + 14} y={y + 39}>
            {fit(`${word}${step.subject === '' ? '' : ` · ${step.subject}`}`, width, TEXT_CHAR)}
          </text>
        </>
      )}
    </>
  )
}

function Arrow({ from, to }: { readonly from: Box | undefined; readonly to: Box | undefined }): ReactElement | null {
  if (from === undefined || to === undefined) return null
  const x = from.x + from.width
  const [y1, y2] = [from.y + from.height / 2, to.y + to.height / 2]
  const bend = Math.max(16, (to.x - x) / 2)
  return <path className={styles['arrow']} d={`M${x} ${y1}C${x + bend} ${y1} ${to.x - bend} ${y2} ${to.x - 2} ${y2}`} />
}
