/** Shows the document of the user beside the one that somebody else has saved since, and lets the user choose. */
import type { Pipeline } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Button } from '../parts/button.tsx'
import { When } from '../parts/when.tsx'
import styles from './editor.module.css'

interface ConflictProps {
  readonly mine: string
  readonly theirs: Pipeline
  readonly off: string | undefined
  readonly isBusy: boolean
  readonly onKeepMine: () => void
  readonly onTakeTheirs: () => void
  readonly onGoOn: () => void
}

/** Returns the lines of a text, and which of them the other text does not have. */
export function ownLines(text: string, other: string): readonly { readonly line: string; readonly isOwn: boolean }[] {
  const counts = new Map<string, number>()
  for (const line of other.split('\n')) counts.set(line, (counts.get(line) ?? 0) + 1)
  return text.split('\n').map((line) => {
    const left = counts.get(line) ?? 0
    counts.set(line, left - 1)
    return { line, isOwn: left <= 0 }
  })
}

export function Conflict({ mine, theirs, off, isBusy, onKeepMine, onTakeTheirs, onGoOn }: ConflictProps): ReactElement {
  return (
    <section className={styles['conflict']} role="alert" aria-label="Conflict">
      <p>
        The pipeline was changed in the meantime. It is at revision {theirs.revision}, saved <When at={theirs.updatedAt} />. Your
        changes are not saved.
      </p>
      <div className={styles['versions']}>
        <Version title="Yours" text={mine} other={theirs.document} />
        <Version title={`Revision ${theirs.revision}`} text={theirs.document} other={mine} />
      </div>
      <div className={styles['buttons']}>
        <Button tone="primary" off={off} isBusy={isBusy} onClick={onKeepMine}>
          Save mine over it
        </Button>
        <Button onClick={onTakeTheirs}>Take revision {theirs.revision}</Button>
        <Button tone="quiet" onClick={onGoOn}>
          Continue to edit mine
        </Button>
      </div>
    </section>
  )
}

function Version({
  title,
  text,
  other,
}: {
  readonly title: string
  readonly text: string
  readonly other: string
}): ReactElement {
  return (
    <div className={styles['version']}>
      <h3>{title}</h3>
      <pre tabIndex={0} role="region" aria-label={title}>
        {ownLines(text, other).map(({ line, isOwn }, index) => (
          <div key={index} data-own={isOwn}>
            <span aria-hidden>{isOwn ? '*' : ' '}</span>
            <bdi>{line}</bdi>
          </div>
        ))}
      </pre>
    </div>
  )
}
