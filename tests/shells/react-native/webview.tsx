/**
 * `react-native-webview` as far as bridge.md uses it. The webview is a page of its own: what goes between the two
 * passes through the test, by the names below.
 */
import { useEffect, useImperativeHandle, type Ref } from "react";

interface Handle {
  injectJavaScript(script: string): void;
}

interface Properties {
  ref: Ref<Handle>;
  source: { html: string };
  onMessage: (event: { nativeEvent: { data: string } }) => void;
}

declare global {
  interface Window {
    /** The test's: runs a script in the webview. */
    runInWebView: (script: string) => Promise<void>;
    /** The test's: shows this page. */
    showInWebView: (html: string) => Promise<void>;
    /** What the webview posted. */
    fromWebView: (data: string) => void;
  }
}

export function WebView({ ref, source, onMessage }: Properties) {
  useImperativeHandle(ref, () => ({ injectJavaScript: (script) => void window.runInWebView(script) }));
  useEffect(() => {
    window.fromWebView = (data) => {
      onMessage({ nativeEvent: { data } });
    };
  }, [onMessage]);
  const { html } = source;
  useEffect(() => void window.showInWebView(html), [html]);
  return null;
}
