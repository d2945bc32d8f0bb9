/** What the server says about a stream as a whole: output that is missing. */
import { formatBytes } from '@windlass/plan'
import { useQuery } from '@tanstack/react-query'
import type { ReactElement } from 'react'
import { queries } from '../../server/queries.ts'
import { formatDate } from '../../looks/time.ts'
import { useNow } from '../../looks/clock.ts'
import type { LogName } from './log-state.ts'
import styles from '../log.module.css'

/** Shows nothing for a log that is whole. */
export function ServerMarks({ buildId, attempt, stream, isLive }: LogName & { readonly isLive: boolean }): ReactElement | null {
  const { data } = useQuery({ ...queries.logStreams(buildId), enabled: !isLive })
  const now = useNow()
  if (data?.expiredAt !== undefined)
    return <p className={styles['marks']}>The log was kept until {formatDate(data.expiredAt, now)}.</p>
  const found = data?.items.find((item) => item.attempt === attempt && item.stream === stream)
  if (found?.cut !== true) return null
  const missing =
    found.missingBytes === undefined
      ? 'The end of the output is missing'
      : `At least ${formatBytes(found.missingBytes)} are missing here`
  return (
    <p className={styles['marks']}>
      {missing}: attempt {attempt} was lost before its engine could send all output.
    </p>
  )
}
