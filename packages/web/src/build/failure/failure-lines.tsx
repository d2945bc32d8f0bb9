/** The lines of a failed step that matter: around the problem that tells most, or the last ones. */
import { useQuery } from '@tanstack/react-query'
import { visibleText } from '@windlass/ansi'
import { isFault } from '@windlass/kit/faults'
import { tellingLines } from '@windlass/plan'
import { stepStream, type Build } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { ButtonLink } from '../../parts/button.tsx'
import { Problem } from '../../parts/problem.tsx'
import { queries } from '../../server/queries.ts'
import { paths } from '../../url/paths.ts'
import styles from '../lines.module.css'

export function FailureLines({ build, step }: { readonly build: Build; readonly step: string }): ReactElement {
  const stream = stepStream(step)
  const marks = useQuery(queries.logMarks(build.id, stream))
  const { problem, ...range } = tellingLines(marks.data?.problems ?? [])
  const { data, error, isPending, refetch } = useQuery({
    ...queries.linesFrom(build.id, stream, range),
    enabled: !marks.isPending,
    retry: false,
  })
  if (isPending) return <div className={styles['lines']} aria-busy="true" data-empty="true" />
  if (data?.lines === 0 || isFault(error, 'not-found')) return <p className="quiet">The step has no output.</p>
  if (data === undefined) return <Problem error={error} onRetry={() => void refetch()} />
  const lines = data.text.replace(/\n$/, '').split('\n').map(visibleText)
  const width = { minWidth: `${String(data.from + lines.length).length + 1}ch` }
  const what = problem === undefined ? `Last lines of ${step}` : `Problem of ${step}`
  return (
    <>
      <ol className={styles['lines']} aria-label={what} tabIndex={0}>
        {lines.map((line, index) => (
          <li key={index} data-bad={data.from + index === problem?.line}>
            <Link href={paths.step(build.id, step, { lines: [data.from + index + 1, data.from + index + 1] })} style={width}>
              {data.from + index + 1}
            </Link>
            <bdi>{line === '' ? ' ' : line}</bdi>
          </li>
        ))}
      </ol>
      {problem !== undefined && (
        <div>
          <ButtonLink small href={paths.step(build.id, step, { lines: [problem.line + 1, problem.line + 1] })}>
            Open the log at line {(problem.line + 1).toLocaleString('en')}
          </ButtonLink>
        </div>
      )}
    </>
  )
}
