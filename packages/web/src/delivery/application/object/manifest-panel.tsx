/** An object as the cluster has it, in YAML. */
import { useMemo, type ReactElement } from 'react'
import { stringify } from 'yaml'
import { Command, CopyButton } from '../../../parts/copy.tsx'
import layout from '../../../parts/layout.module.css'
import { sh } from '../../../parts/shell.ts'
import { fullNameOf, type Named } from '../objects.ts'
import type { LiveApplication } from '../use-live.ts'
import styles from './object.module.css'

/** Characters that are shown, so that an object of the largest size does not stop the browser. */
const MOST_CHARS = 300_000

export interface ManifestPanelProps {
  readonly live: LiveApplication
  readonly object: Named
  readonly manifest: Readonly<Record<string, unknown>>
}

export function ManifestPanel({ live, object, manifest }: ManifestPanelProps): ReactElement {
  const text = useMemo(() => stringify(manifest, { lineWidth: 0 }), [manifest])
  const { runtime, name } = live.reported
  return (
    <section className={layout['tight']} aria-label="Manifest">
      <div className={styles['manifest']}>
        <pre role="region" aria-label="Manifest in YAML" tabIndex={0}>
          {text.slice(0, MOST_CHARS)}
        </pre>
        <CopyButton text={text} label="Copy the manifest" />
      </div>
      {text.length > MOST_CHARS && (
        <p className={layout['note']}>Only the beginning is shown. The copy has the whole manifest.</p>
      )}
      <p className={layout['note']}>
        As the cluster has it, without what says who wrote which field. Values of Secrets are hidden.
      </p>
      <Command text={sh`windlass gitops app manifest ${runtime} ${name} ${fullNameOf(object)}`} />
    </section>
  )
}
