/** The lines of a log that the same step of the last successful build lacks. */
import { useQuery } from '@tanstack/react-query'
import { plural } from '@windlass/plan'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { WindowedList } from '../parts/windowed-list.tsx'
import { queries } from '../server/queries.ts'
import { paths } from '../url/paths.ts'
import { formatCount } from './rows/format.ts'
import type { LogName } from './lines/log-state.ts'
import styles from './new-lines.module.css'

const ROW_PX = 20

/** Shows the lines with their numbers. A click on one shows it in the log. */
export function NewLines({ name, onShow }: { readonly name: LogName; readonly onShow: (line: number) => void }): ReactElement {
  const { data, error, refetch } = useQuery(queries.newLines(name.buildId, name))
  if (data === undefined)
    return (
      <div className={styles['panel']}>
        {error === null ? <Loading what="the comparison" /> : <Problem error={error} onRetry={() => void refetch()} />}
      </div>
    )
  const { lines, count, against, complete } = data
  const other = <Link href={paths.build(against.id)}>#{against.number}</Link>
  return (
    <div className={styles['panel']} tabIndex={0} role="region" aria-label="Only what is new">
      <p className={styles['head']}>
        {count === 0 ? 'No line is new compared with ' : `${plural(count, 'line')} ${count === 1 ? 'is' : 'are'} not in `}
        {other}. Numbers, ids, times and paths do not count.
        {lines.length < count && ` The first ${formatCount(lines.length)} are shown.`}
        {!complete && ' The logs were too long to compare all lines.'}
      </p>
      <WindowedList
        label="New lines"
        rows={lines}
        rowHeight={ROW_PX}
        keyOf={({ line }) => line}
        render={({ line, text }) => (
          <div className={styles['line']}>
            <button type="button" aria-label={`Show line ${line + 1} in the log`} onClick={() => onShow(line)}>
              {line + 1}
            </button>
            <bdi>{text === '' ? ' ' : text}</bdi>
          </div>
        )}
      />
    </div>
  )
}
