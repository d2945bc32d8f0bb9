/** What a sync of an application would change: each object as the cluster has it, and as the source wants it. */
import { useQuery } from '@tanstack/react-query'
import { plural } from '@windlass/plan'
import { ChevronDown, ChevronRight } from 'lucide-react'
import { useMemo, useState, type ReactElement } from 'react'
import { IconButton } from '../../parts/button.tsx'
import cells from '../../parts/cells.module.css'
import { Command } from '../../parts/copy.tsx'
import { Diff } from '../../parts/diff.tsx'
import { Empty } from '../../parts/empty.tsx'
import layout from '../../parts/layout.module.css'
import { Loading } from '../../parts/loading.tsx'
import { Problem } from '../../parts/problem.tsx'
import { sh } from '../../parts/shell.ts'
import styles from '../delivery.module.css'
import { deliveryQueries } from '../queries.ts'
import { toTexts, type DiffTexts } from './diff-texts.ts'
import { fullNameOf, nameOf } from './objects.ts'
import type { LiveApplication } from './use-live.ts'

/** Number of objects up to which each is open at first. */
const ALL_OPEN = 5

export function DiffTab({ live }: { readonly live: LiveApplication }): ReactElement {
  const { id, reported, now, away } = live
  const { data: items, error, isPending, refetch } = useQuery({ ...deliveryQueries.differences(id), enabled: now !== undefined })
  const data = useMemo(() => items?.map(toTexts), [items])
  if (away !== undefined && away.kind !== 'asked') return <Empty>The differences are known while the runtime is connected.</Empty>
  return (
    <section className={layout['stack']} aria-label="Differences">
      {isPending && <Loading rows={6} what="the differences" />}
      {error !== null && <Problem error={error} onRetry={() => void refetch()} />}
      {error === null && data?.length === 0 && <Empty>The cluster has what the source says.</Empty>}
      {error === null && data !== undefined && data.length > 0 && (
        <>
          <p className={layout['note']}>
            A sync would change {plural(data.length, 'object')}. Lines with − are in the cluster, lines with + are in the source.
            Values of Secrets are hidden.
          </p>
          <ol className={styles['differences']}>
            {data.map((difference) => (
              <Difference key={fullNameOf(difference)} difference={difference} isFirst={data.length <= ALL_OPEN} />
            ))}
          </ol>
        </>
      )}
      <Command text={sh`windlass gitops app diff ${reported.runtime} ${reported.name}`} />
    </section>
  )
}

const CHANGES = {
  create: 'would be created',
  update: 'would be changed',
  delete: 'not in the source: a sync with pruning would delete it',
} as const satisfies Readonly<Record<DiffTexts['change'], string>>

function Difference({ difference, isFirst }: { readonly difference: DiffTexts; readonly isFirst: boolean }): ReactElement {
  const [isOpen, setIsOpen] = useState(isFirst)
  const name = nameOf(difference)
  return (
    <li>
      <div className={styles['difference']}>
        <IconButton
          label={isOpen ? `Hide what differs in ${name}` : `Show what differs in ${name}`}
          aria-expanded={isOpen}
          onClick={() => setIsOpen(!isOpen)}
        >
          {isOpen ? <ChevronDown size={16} aria-hidden /> : <ChevronRight size={16} aria-hidden />}
        </IconButton>
        <h2>
          <bdi>{name}</bdi>
        </h2>
        <span className={cells['more']}>{CHANGES[difference.change]}</span>
      </div>
      {isOpen && <Diff label={`What differs in ${name}`} before={difference.before} after={difference.after} />}
    </li>
  )
}
