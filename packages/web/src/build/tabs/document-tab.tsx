/** The document that a build was compiled from, with its problems at their lines. */
import { useQuery } from '@tanstack/react-query'
import type { Build } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { CopyButton } from '../../parts/copy.tsx'
import { Loading } from '../../parts/loading.tsx'
import { Problem } from '../../parts/problem.tsx'
import { queries } from '../../server/queries.ts'
import lineStyles from '../lines.module.css'
import styles from '../build.module.css'

export function DocumentTab({ build }: { readonly build: Build }): ReactElement {
  const { data, error, isPending, refetch } = useQuery(queries.buildPlan(build.id))
  if (isPending) return <Loading rows={12} what="the document" />
  if (data === undefined) return <Problem error={error} onRetry={() => void refetch()} />
  const text = data.fetched ?? data.document
  const problems = Map.groupBy(build.problems ?? [], ({ line }) => line)
  const steps = new Map(
    (data.plan?.steps ?? []).flatMap(({ position, name }) => (position === undefined ? [] : [[position.line, name] as const])),
  )
  return (
    <section aria-label="Document">
      <div className={styles['panelHead']}>
        <h2>
          <bdi>{data.source?.path ?? data.source?.url ?? data.file}</bdi>
        </h2>
        <CopyButton text={text} label="Copy the document" />
      </div>
      <ol className={lineStyles['lines']} tabIndex={0} aria-label="Lines of the document">
        {text.split('\n').map((line, index) => (
          <li key={index} data-bad={problems.has(index + 1)} title={titleOf(problems.get(index + 1)) ?? steps.get(index + 1)}>
            <span className={lineStyles['lineNumber']}>{index + 1}</span>
            <bdi>{line === '' ? ' ' : line}</bdi>
          </li>
        ))}
      </ol>
    </section>
  )
}

function titleOf(problems: Build['problems']): string | undefined {
  return problems?.map(({ message }) => message).join('\n')
}
