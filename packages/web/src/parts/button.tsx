/** Buttons and links that look like them. */
import type { ComponentProps, MouseEvent, ReactElement, ReactNode } from 'react'
import { Link } from 'wouter'
import styles from './button.module.css'
import { useTooltip } from './floating/tooltip.tsx'

export type ButtonTone = 'plain' | 'primary' | 'danger' | 'quiet'

interface Common {
  readonly tone?: ButtonTone
  readonly icon?: ReactNode
  readonly small?: boolean
}

export interface ButtonProps extends Common, Omit<ComponentProps<'button'>, 'className' | 'style'> {
  /** The reason why the button does nothing now, shown as its tooltip. The button can still have the focus. */
  readonly off?: string | undefined
  /** True while its call is under way. */
  readonly isBusy?: boolean
}

/** A button. Its text is a verb with its object. */
export function Button({
  tone = 'plain',
  icon,
  small = false,
  off,
  isBusy = false,
  children,
  onClick,
  ...rest
}: ButtonProps): ReactElement {
  const isOff = off !== undefined || isBusy
  // Not a `Tooltip` around it: a button that turns off would be another element, and lose the focus.
  const { handlers, tooltip } = useTooltip<HTMLButtonElement>(off, rest)
  return (
    <>
      <button
        type="button"
        {...rest}
        {...handlers}
        className={styles['button']}
        data-tone={tone}
        data-small={small}
        aria-disabled={isOff || undefined}
        aria-busy={isBusy || undefined}
        aria-description={off}
        onClick={(event: MouseEvent<HTMLButtonElement>) => (isOff ? event.preventDefault() : onClick?.(event))}
      >
        {icon}
        {children}
      </button>
      {tooltip}
    </>
  )
}

/** A button with only an icon. */
export function IconButton({
  label,
  off,
  children,
  onClick,
  ...rest
}: Omit<ButtonProps, 'icon' | 'small' | 'tone' | 'isBusy'> & { readonly label: string }): ReactElement {
  const { handlers, tooltip } = useTooltip<HTMLButtonElement>(off ?? label, rest)
  return (
    <>
      <button
        type="button"
        {...rest}
        {...handlers}
        className={styles['icon']}
        aria-label={label}
        aria-disabled={off !== undefined || undefined}
        aria-description={off}
        onClick={off === undefined ? onClick : undefined}
      >
        {children}
      </button>
      {tooltip}
    </>
  )
}

/** A link of the page that looks like a button. */
export function ButtonLink({
  href,
  tone = 'plain',
  icon,
  small = false,
  children,
}: Common & { readonly href: string; readonly children: ReactNode }): ReactElement {
  return (
    <Link href={href} className={styles['button'] ?? ''} data-tone={tone} data-small={small}>
      {icon}
      {children}
    </Link>
  )
}
