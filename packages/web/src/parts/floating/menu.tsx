/** A menu of actions. */
import { Menu as Base } from '@base-ui/react/menu'
import { Fragment, type ReactElement, type ReactNode } from 'react'
import styles from './float.module.css'

export interface MenuEntry {
  readonly label: string
  readonly icon?: ReactNode
  readonly keys?: string
  /** Why it does nothing now, shown below its label. */
  readonly off?: string | undefined
  /** A line below the label, such as the command that does the same. */
  readonly note?: string | undefined
  readonly tone?: 'danger' | undefined
  readonly isMarked?: boolean
  /** True for an entry that changes what the menu offers. */
  readonly keepsOpen?: boolean
  readonly onChoose: () => void
}

/** A menu behind a button. Groups are separated by lines. */
export function Menu({
  button,
  groups,
  onOpenChange,
}: {
  readonly button: ReactElement
  readonly groups: readonly (readonly MenuEntry[])[]
  readonly onOpenChange?: (isOpen: boolean) => void
}): ReactElement {
  return (
    <Base.Root onOpenChange={(isOpen) => onOpenChange?.(isOpen)}>
      <Base.Trigger render={button} />
      <Base.Portal>
        <Base.Positioner sideOffset={4} align="end" className={styles['layer']}>
          <Base.Popup className={styles['menu']}>
            {groups
              .filter((group) => group.length > 0)
              .map((group, index) => (
                <Fragment key={group[0]?.label}>
                  {index > 0 && <div className={styles['line']} />}
                  {group.map((entry) => (
                    <Entry key={entry.label} entry={entry} />
                  ))}
                </Fragment>
              ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}

function Entry({ entry }: { readonly entry: MenuEntry }): ReactElement {
  const below = entry.off ?? entry.note
  return (
    <Base.Item
      className={styles['item']}
      data-tone={entry.tone}
      disabled={entry.off !== undefined}
      closeOnClick={entry.keepsOpen !== true}
      onClick={entry.onChoose}
    >
      <span aria-hidden>{entry.isMarked === true ? '✓' : entry.icon}</span>
      {entry.label}
      {entry.keys === undefined ? <span /> : <kbd>{entry.keys}</kbd>}
      {below !== undefined && <small className={entry.off === undefined ? 'mono' : ''}>{below}</small>}
    </Base.Item>
  )
}
